"""Numbers that look measured are computed on the page, not typed: the text can't go stale.

Looked at are sentences of the text, and what cells print or say in captions and alternative texts.
Tables are left out (their numbers are worked out by hand or come from `glue`), and so are mathematics,
code in the text, and sentences that cite a source.
"""

import ast
import re

import pytest

from autograder.publish.page_source import CodeCell, read_page
from tests.support.course import COURSE
from tests.support.small_book import FRONT

# Numbers that are typed rightly: (page, a part of the sentence) -> why.
EXCEPTIONS = {
    ("ch4_leaks", "reported 98% on"): "reported in the issue that the sentence names",
    ("ch5_positional_encoding", "1/40 in a"): "the length of a sentence, divided by hand",
    ("ch5_positional_encoding", "is 1/4 in a short"): "the length of a sentence, divided by hand",
    ("ch6_transformer", "with ten times as many steps"): "300 and 3,000 steps, both chosen",
    ("ch7_bleu", "occurs three times in it"): "counted in a sentence on the page",
    ("ch7_decoding", "a probability of 5%"): "a language that is made up",
    ("teaching_questions", "0.6, 0.3 and 0.1"): "given by a question",
    ("teaching_questions", "more than 0.7"): "the limit that a question gives",
    ("teaching", "10% of the score for each day"): "the setting of the configuration above it",
}

COMPUTED = "\N{REPLACEMENT CHARACTER}"  # stands for a number that the page computes
WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|(?:a |one )?hundred|(?:a )?thousand"
)
MEASURED = re.compile(
    # 0.5, but no section such as 3.1.2, no version 1.0
    r"(?<![\w.])(?<!version )(?<!Python )\d+\.\d+(?!\.?\d|\w)"
    r"|\d+ ?%"
    r"|(?<![\w.])[1-9]\d*/\d+(?![\w/])"
    rf"|\b(?:\d+(?:,\d+)*|{WORDS}|{COMPUTED}) times\b"
    # 3 of 6, and a computed number of 15
    rf"|(?:\b\d+|{COMPUTED}) of (?:the )?\d+\b"
)
NUMBER_ALONE = re.compile(r"\$([\d.,/ %\\]+)\$")
LEFT_OUT = re.compile(
    r"^```\{(?:bibliography|toctree|glossary|math|literalinclude)\}.*?^```$"
    r"|^```(?!\{).*?^```$"
    r"|^\$\$.*?^\$\$"
    r"|^ *\|[^\n]*$"
    r"|^ *:[\w-]+:[^\n]*$"
    r"|<(svg|figure|style)\b.*?</\1>"
    r"|^(?:`{3,}|:{3,})[^\n]*$",
    flags=re.DOTALL | re.MULTILINE,
)
CITED = re.compile(r"\{cite(?::\w+)?\}`|https?://|doi\.org")
SENTENCE_END = re.compile(r"(?<=[.!?:;])[\"'*_)]*\s+(?=[^a-z])|\n\s*\n|\n(?=[-*#(:]|\d+\. )")


def sentences(text):
    """The sentences of Markdown, without mathematics and code, computed numbers as one sign."""
    text = LEFT_OUT.sub("\n\n", text)
    text = re.sub(r"\{glue:\w*\}`[^`]*`", COMPUTED, text)
    text = NUMBER_ALONE.sub(lambda found: found[1].replace("\\", ""), text)
    text = re.sub(r"\$[^$\n]+\$", "", text)
    for sentence in SENTENCE_END.split(text):
        # a role's name is markup, its text is read; what stands in single back quotes is code
        yield " ".join(re.sub(r"(\{[\w:]+\})?`[^`]*`", keep_roles, sentence).split())


def keep_roles(found):
    return found[0] if found[1] else ""


def said_by_code(cell):
    """What a cell prints, or says in captions and alternative texts, computed parts as one sign."""
    for call in [node for node in ast.walk(cell.tree()) if isinstance(node, ast.Call)]:
        said = [word.value for word in call.keywords if word.arg in ("alt", "caption")]
        if getattr(call.func, "id", None) == "print":
            said += call.args
        for node in said:
            if isinstance(node, ast.JoinedStr):
                parts = node.values
            else:
                parts = [node] if isinstance(node, ast.Constant) else []
            text = "".join(
                part.value
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
                else COMPUTED
                for part in parts
            )
            yield from (" ".join(s.split()) for s in SENTENCE_END.split(text))


def typed_numbers(text):
    """Numbers that look measured, each with the words around it."""
    found = []
    for part in read_page(COURSE.book / "page.md", text).parts:
        code = isinstance(part, CodeCell)
        for sentence in said_by_code(part) if code else sentences(part):
            # what a question asks is no claim
            if code or not (CITED.search(sentence) or sentence.endswith("?")):
                found += [around(sentence, number) for number in MEASURED.finditer(sentence)]
    return found


def around(sentence, number, width=35):
    """The number with some words on each side."""
    before = sentence[max(number.start() - width, 0) : number.start()]
    after = sentence[number.end() : number.end() + width]
    if number.start() > width:
        before = before.partition(" ")[2]
    if number.end() + width < len(sentence):
        after = after.rpartition(" ")[0]
    return (before + number[0] + after).replace(COMPUTED, "#").strip()


# what a review found: a typed number that was measured once, or belongs to code that may change
REVIEWED = [
    "A model predicts the next word of texts that it has never seen, and 98 % of its predictions are right.",
    "With one head it is answered in {glue:text}`worse:.0f` % of the cases, and guessing would give 10 %.",
    "With two heads {glue:text}`lucky-2:.0f` of 6 networks get there.",
    "The state of the first word has a share of about $1/50$, and the others still carry a little.",
    "It learns three times as fast.",
    "| word |\n|---|\n| x |\n\n```{note}\n:class: x\nIt learns three times as fast.\n```",
]
PRINTED = [
    'print(f"{name:17} {mode:11} pairs that leak: {int(leaks.sum()):2} of 15")',
    'show(fig, alt="x", caption="Two heads reach 99 % in every run.")',
]
FINE = [
    "Two heads reach {glue:text}`two:.0f` % and one {glue:text}`one:.2f`.",
    "They reach 28.4 points {cite}`vaswani2017attention`.",
    "With $d_k = 0.5$ and $p = 50 \\%$ nothing changes.",
    "| word | 0.25 |\n|---|---|\n| x | 30 % |",
    "Since version 2.5.1 it is another function, see section 3.2.1.",
    "Write `rate = 0.03` and `10 %`.",
    "The vector has 64 entries, of which 3 are words, and the second of 2 heads is wider.",
    "```python\nx = 0.5\n```",
    "$$\nx = 0.5 \\cdot 3\n$$",
    "Is it 10 % or 20 %?",
]


@pytest.mark.parametrize("sentence", REVIEWED)
def test_numbers_that_a_review_found_are_found(sentence):
    assert len(typed_numbers(f"# Title\n\nSome words.\n{sentence}\n")) == 1


@pytest.mark.parametrize("code", PRINTED)
def test_typed_numbers_in_what_code_says_are_found(code):
    assert len(typed_numbers(f"{FRONT}\n```{{code-cell}} ipython3\n{code}\n```\n")) == 1


@pytest.mark.parametrize("text", FINE)
def test_other_numbers_are_left_alone(text):
    assert typed_numbers(f"# Title\n\n{text}\n") == []


def test_code_that_computes_is_left_alone():
    code = 'print(f"{x:.2f} of {n}, {100 * x:.0f} %")\nrate = 0.5'
    assert typed_numbers(f"{FRONT}\n```{{code-cell}} ipython3\n{code}\n```\n") == []


def test_measured_numbers_are_not_typed():
    found, used = [], set()
    for path in sorted(COURSE.book.glob("*.md")):
        for number in typed_numbers(path.read_text(encoding="utf-8")):
            excepted = [
                (page, part) for page, part in EXCEPTIONS if page == path.stem and part in number
            ]
            used.update(excepted)
            if not excepted:
                found.append((path.stem, number))
    assert found == []
    assert used == set(EXCEPTIONS), "an exception that excepts nothing"
    assert all(len(why) > 10 for why in EXCEPTIONS.values())
