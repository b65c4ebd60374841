"""The glossary: every term that the chapters use is there, once, and begins with a sentence of its own."""

import re
from collections import Counter

from tests.support.course import COURSE

TEXT = (COURSE.book / "glossary.md").read_text(encoding="utf-8")
# what a review of chapters 5 to 7 found used and not explained
NEEDED = """
cross-entropy, perplexity, subword, byte-pair encoding, BPE, dropout, optimiser, Adam, epoch, n-gram,
brevity penalty, length penalty, exposure bias, bucketing, checkpoint, gradient accumulation,
data parallel, bfloat16, mixed precision, FlashAttention, online softmax, buffer, decoder-only model,
BERT, GPT, autoregressive
"""


def entries():
    """The glossary's entries: (terms, definition)."""
    for glossary in re.findall(r"```\{glossary\}\n(.*?)\n```", TEXT, flags=re.DOTALL):
        for block in re.split(r"\n\n(?! )", glossary.strip("\n")):
            lines = block.split("\n")
            terms = [line for line in lines if not line.startswith(" ")]
            yield terms, " ".join(line.strip() for line in lines[len(terms) :])


def test_every_term_of_the_chapters_is_there():
    known = {term for terms, _ in entries() for term in terms}
    needed = {term.strip() for term in NEEDED.replace("\n", " ").split(",")}
    assert not needed - known


def test_no_term_is_there_twice():
    counted = Counter(term.lower() for terms, _ in entries() for term in terms)
    assert [term for term, count in counted.items() if count > 1] == []


def test_a_definition_begins_with_a_sentence_that_says_something():
    for terms, definition in entries():
        first = re.split(r"(?<=[.}])\s", definition)[0]
        assert len(first.split()) >= 4 and definition.endswith("."), terms


def test_a_term_in_a_definition_is_in_the_glossary():
    known = {term for terms, _ in entries() for term in terms}
    for terms, definition in entries():
        for named in re.findall(r"\{term\}`([^`]+)`", definition):
            target = re.search(r"<(.+)>$", named)
            assert (target[1] if target else named) in known, terms
