"""The glossary: every term that the chapters use is there, once, and begins with a sentence of its own."""

import re
from collections import Counter

from book.page_counts import glossary


def test_no_term_is_there_twice():
    counted = Counter(term.lower() for terms, _ in glossary() for term in terms)
    assert [term for term, count in counted.items() if count > 1] == []


def test_a_definition_begins_with_a_sentence_that_says_something():
    for terms, definition in glossary():
        first = re.split(r"(?<=[.}])\s", definition)[0]
        assert len(first.split()) >= 4 and definition.endswith("."), terms


def test_a_term_in_a_definition_is_in_the_glossary():
    known = {term for terms, _ in glossary() for term in terms}
    for terms, definition in glossary():
        for named in re.findall(r"\{term\}`([^`]+)`", definition):
            target = re.search(r"<(.+)>$", named)
            assert (target[1] if target else named) in known, terms
