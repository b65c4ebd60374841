"""How hard a text is to read: its sentences and words, and the grade by Flesch and Kincaid."""

import re

from tests.support.course import COURSE


def glossary_words() -> set[str]:
    """The words of the terms in the book's glossary, singular and plural, in lower case."""
    terms, inside = [], False
    for line in (COURSE.root / "book" / "glossary.md").read_text().splitlines():
        inside = line.startswith("```{glossary}") or (inside and line != "```")
        if inside and line and not line.startswith((" ", "`")):
            terms.append(line)
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", " ".join(terms))}
    return words | {f"{word}s" for word in words}


TERMS = glossary_words()


def sentences(text: str) -> list[str]:
    """A text's sentences; code in backticks is one word each."""
    text = re.sub(r"`[^`]*`", "x", text)
    # a dot inside a name or number ends no sentence
    return [part for part in re.split(r"[.?!]+(?=\s|$)", text) if part.strip()]


def words(text: str) -> list[str]:
    """The words of a text, and what stands for one, such as a number."""
    return [part for part in text.split() if re.search(r"\w", part)]


def syllables(word: str) -> int:
    """About how many syllables a word has; code, numbers and terms of the glossary have one."""
    word = word.strip(".,;:?!()'\"").lower().removesuffix("'s")
    if word in TERMS or not re.fullmatch(r"[a-z]+(-[a-z]+)*(n't|'[a-z]+)?", word):
        return 1
    if "-" in word:
        return sum(map(syllables, word.split("-")))
    groups = len(re.findall(r"[aeiouy]+", word))
    silent_e = re.search(r"[^aeiouyl]e$|[^aeiouydt]ed$|[^aeiouycgsxz]es$", word)
    return max(1, groups - bool(silent_e))


def grade(texts: list[str]) -> float:
    """The Flesch-Kincaid grade of some texts together: years of school that they take to read."""
    parts = [part for text in texts for part in sentences(text)]
    all_words = [word for part in parts for word in words(part)]
    per_word = sum(map(syllables, all_words)) / len(all_words)
    return 0.39 * len(all_words) / len(parts) + 11.8 * per_word - 15.59
