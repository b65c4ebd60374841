"""Counts what an editor looks at on the pages: `python -m book.page_counts [ch2 ...]`. No number is a goal.

For each page: minutes, experiments, claims, computed numbers in prose, sentences with more than two of them,
predictions, words that the style avoids, and references by position. Then, page by page, where they are;
for each prediction, sentences in sight above it that share words of its answer; and claims that share no
word with the text of their section.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.publish.page_source import CodeCell, page_to_read

BOOK = Path(__file__).parent

# what stands between fences or in a table is no prose
FENCED = re.compile(r"^ *(`{3,})[^\n]*\n.*?^ *\1 *$", flags=re.DOTALL | re.MULTILINE)
TABLE_ROW = re.compile(r"^\|.*$", flags=re.MULTILINE)
SENTENCE_ENDS = re.compile(r"(?<=[.?!:])[)\"”*]*\s+(?=[A-Z*\"“{\[(`$])|\n\s*\n")
COMPUTED = re.compile(r"\{glue:?\w*\}`")
POSITION = re.compile(
    r"\b(?:next|previous|first|second|third|fourth|fifth|last|preceding|following|earlier|later) "
    r"(?:page|chapter)s?\b|\b(?:page|chapter) (?:above|below|before|after)\b",
    flags=re.IGNORECASE,
)
# the table of words in the house style, as far as a program finds them
WORDS = {
    "another (when it isn't one more)": r"\banother (?:order|text|way|kind|one)\b",
    "alone, only at the end": r"\b(?:alone|only)[.,;:]",
    "right, wrong": r"\b(?:right|wrong)\b",
    "stands, lies": r"\b(?:stands?|lies?)\b",
    "replaced by": r"\breplac\w+\b[^.]{0,40}\bby\b",
    "beside": r"\bbeside\b",
    "mend, told, hand over, by heart": r"\b(?:mend\w*|told|tells? of|hand(?:s|ed)? over|by heart|come again)\b",
    "of its own": r"\bof (?:its|their|his) own\b",
    "a second, a word (as a rate)": r"\ba (?:second|word|character|token)\b(?= (?:is|are|on)\b|[.,)])",
    "36 %": r"(?:\d|`) %",
    "nobody, somebody, whoever": r"\b(?:nobody|somebody|whoever|who hands? in)\b",
    "really": r"\bpeople really\b",
    "in place of, in spite of all": r"\bin place of\b|\bin spite of all\b",
    "and not": r",? and not (?:by|from|in|to)\b",
}
WORDS_FOUND = {name: re.compile(words, flags=re.IGNORECASE) for name, words in WORDS.items()}
COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    a about after again all also an and another any are as at be because been before both but by can could did do
    does doesn each even every for from get gets give gives has have here how if in into is isn it its just less
    like made make makes many may more most much must no not now of off on one only or other others our out over own
    same see should so some such take than that the their them then there these they this those three through to too
    two under up us use used very was we were what when where which while who why will with without would yes you
    your
    """,
    )
)
MARK = re.compile(
    r"^:{3,}\{(?P<kind>predict|predict-end)\} *(?P<question>.*)\n(?P<body>(?:(?!:{3}).*\n)*):{3,} *$",
    flags=re.MULTILINE,
)


@dataclass(frozen=True)
class Prediction:
    """A question and its choices; right: the number of the right one, 0 without; above: text in sight above."""

    question: str
    choices: list[str]
    right: int
    above: str


@dataclass(frozen=True)
class Page:
    """A page as an editor counts it: its text without programs, and what its cells hold."""

    name: str
    minutes: int
    text: str
    predictions: list[Prediction]
    experiments: int
    # each with the text of its section
    claims: list[tuple[str, str]]

    @property
    def sentences(self) -> list[str]:
        """The sentences of its prose."""
        return sentences(self.text)

    @property
    def crowded(self) -> list[str]:
        """Sentences with more than two computed numbers."""
        return [one for one in self.sentences if len(COMPUTED.findall(one)) > 2]

    @property
    def positions(self) -> list[str]:
        """Sentences that say where a page is, and not what it's called."""
        return [one for one in self.sentences if POSITION.search(one)]


def sentences(text: str) -> list[str]:
    """The sentences of a text without its tables."""
    parts = SENTENCE_ENDS.split(TABLE_ROW.sub("", text))
    return [" ".join(part.split()) for part in parts if part.strip()]


def content_words(text: str) -> set[str]:
    """The words that say something, without endings."""
    plain = re.sub(r"\{[\w:-]+\}`[^`]*`|\]\([^)]*\)", " ", text)
    words = re.findall(r"[a-z]{2,}|\d+", plain.lower())
    return {re.sub(r"(?:ing|ed|es|s)$", "", word) for word in words if word not in COMMON}


def read(path: Path) -> Page:
    """Count one page."""
    source = page_to_read(path)
    text, above, section = "", "", 0
    folded = False
    predictions: list[Prediction] = []
    claims: list[tuple[str, int]] = []
    sections = [""]
    experiments = 0
    for part in source.parts:
        if isinstance(part, CodeCell):
            calls = [node for node in ast.walk(part.tree()) if isinstance(node, ast.Call)]
            experiments += sum(_is_experiment(call) for call in calls)
            claims += [(said, section) for call in calls if (said := _claimed(call))]
            continue
        words = FENCED.sub("", part)
        text += f"{words}\n\n"
        last = 0
        for mark in MARK.finditer(words):
            above += "" if folded else f"{words[last : mark.start()]}\n\n"
            last, folded = mark.end(), mark["kind"] == "predict"
            if folded:
                predictions.append(_prediction(mark, above))
        above += "" if folded else words[last:]
        for piece in re.split(r"^(?=#+ )", words, flags=re.MULTILINE):
            if piece.startswith("#"):
                sections.append("")
                section += 1
            sections[-1] += f"{piece}\n"
    return Page(
        path.stem,
        source.minutes(),
        text,
        predictions,
        experiments,
        [(said, sections[place]) for said, place in claims],
    )


def _is_experiment(call: ast.Call) -> bool:
    """Whether a call computes or takes a stored result: `stored(f, ...)` or `partial(stored, f)`."""
    first = call.args[0] if call.args else None
    return getattr(call.func, "id", "") == "stored" or (
        getattr(call.func, "id", "") == "partial" and getattr(first, "id", "") == "stored"
    )


def _claimed(call: ast.Call) -> str:
    """The sentence of a claim; empty for another call."""
    if getattr(call.func, "id", "") != "claim" or len(call.args) < 2:
        return ""
    return " ".join(
        part.value
        for part in ast.walk(call.args[1])
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def _prediction(mark: re.Match[str], above: str) -> Prediction:
    right = re.search(r"^:right: (\d+)$", mark["body"], re.MULTILINE)
    body = re.sub(r"^:\w+: .*\n", "", mark["body"], flags=re.MULTILINE)
    listed = re.findall(r"^- (.+)$", body, re.MULTILINE)
    choices = listed or re.findall(r"^(?![:\s])(.+)\n(?=: )", body, re.MULTILINE)
    return Prediction(mark["question"], choices, int(right[1]) if right else 0, above)


def given_away(prediction: Prediction) -> Iterator[str]:
    """Sentences above a prediction with words of its right choice that no other choice and no question has."""
    if not prediction.right:
        return
    others = [c for n, c in enumerate(prediction.choices, 1) if n != prediction.right]
    asked = content_words(" ".join([prediction.question, *others]))
    own = content_words(prediction.choices[prediction.right - 1]) - asked
    fewest = min(2, len(own))
    for sentence in sentences(prediction.above):
        if own and len(own & content_words(sentence)) >= fewest:
            yield sentence


def unsaid(page: Page) -> list[str]:
    """Claims none of whose words is in the text of their section."""
    return [said for said, near in page.claims if not content_words(said) & content_words(near)]


def glossary() -> list[tuple[list[str], str]]:
    """The glossary's entries: the terms of each, and its definition."""
    found = []
    text = (BOOK / "glossary.md").read_text(encoding="utf-8")
    for listed in re.findall(r"```\{glossary\}\n(.*?)\n```", text, flags=re.DOTALL):
        for block in re.split(r"\n\n(?! )", listed.strip("\n")):
            lines = block.split("\n")
            terms = [line for line in lines if not line.startswith(" ")]
            found.append((terms, " ".join(line.strip() for line in lines[len(terms) :])))
    return found


def unexplained(texts: list[str], entries: list[tuple[list[str], str]]) -> list[str]:
    """Terms that the last of some texts uses before any of them has marked it with the role {term}.

    What has a term's role also has its meaning, which opens on the page.
    """
    before, last = "\n".join(texts[:-1]), texts[-1]
    found = []
    for terms, _ in entries:
        names = "|".join(re.escape(term) for term in terms)
        marked = rf"\{{term\}}`(?:[^`<]*<)?(?:{names})>?`"
        if re.search(marked, before, re.IGNORECASE):
            continue
        # words in code, links, formulas and other roles are no text
        plain = re.sub(marked, lambda role: "\0" * len(role[0]), last, flags=re.IGNORECASE)
        plain = re.sub(
            r"\{[\w:-]+\}`[^`]*`|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|^#.*$|^\(.*\)=$",
            " ",
            plain,
            flags=re.MULTILINE,
        )
        used = re.search(rf"(?<![\w-])(?:{names})s?(?![\w-])", plain, re.IGNORECASE)
        if used and "\0" not in plain[: used.start()]:
            found.append(terms[0])
    return found


HEADS = re.split(
    " ",
    "page min exper. claims numbers >2 predict. no-right positions style given-away unsaid",
)


def main(chapters: list[str]) -> None:
    """Print the counts of the pages of some chapters, or of all."""
    names = [f"{chapter}_*.md" for chapter in chapters] or ["first_hour.md", "ch*_*.md"]
    paths = sorted({path for name in names for path in BOOK.glob(name)})
    pages = sorted(
        map(read, paths), key=lambda page: [int(n) for n in re.findall(r"\d+", page.name)]
    )
    rows = []
    for page in pages:
        prose = TABLE_ROW.sub("", page.text)
        style = sum(len(words.findall(prose)) for words in WORDS_FOUND.values())
        rows.append(
            [
                page.minutes,
                page.experiments,
                len(page.claims),
                len(COMPUTED.findall(prose)),
                len(page.crowded),
                len(page.predictions),
                sum(not one.right for one in page.predictions),
                len(page.positions),
                style,
                sum(len([*given_away(one)]) for one in page.predictions),
                len(unsaid(page)),
            ]
        )
    print(f"{HEADS[0]:26}" + "".join(f"{head:>11}" for head in HEADS[1:]))
    for name, row in [
        *zip([p.name for p in pages], rows, strict=True),
        ("together", map(sum, zip(*rows, strict=True))),
    ]:
        print(f"{name:26}" + "".join(f"{number:11}" for number in row))
    for page in pages:
        print(f"\n== {page.name}")
        for head, found in {
            "more than two computed numbers": page.crowded,
            "by position": page.positions,
            "nothing says this claim": unsaid(page),
        }.items():
            for sentence in found:
                print(f"  {head}: {sentence}")
        for name, words in WORDS_FOUND.items():
            found = words.findall(TABLE_ROW.sub("", page.text))
            if found:
                print(f"  style: {name}: {len(found)}")
        for prediction in page.predictions:
            print(f"  predict: {prediction.question} -> {prediction.right or 'no right choice'}")
            for sentence in given_away(prediction):
                print(f"    above: {sentence}")


if __name__ == "__main__":
    main(sys.argv[1:])
