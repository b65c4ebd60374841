"""Predict boxes: the answer is folded, so that a reader can think before looking.

An answer is the output of a cell with the tag `hide-output` or `hide-cell`, or a `{dropdown}`; both are
<details> on the page, which open without JavaScript. It belongs to the last box above it in the section.
"""

import re

from autograder.publish.page_source import CodeCell, read_page
from tests.support.course import COURSE
from tests.support.small_book import FRONT

# a box, with the question's first words; an answer; a heading
EVENTS = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{admonition\} *(?P<title>Predict.*)\n(?P<body>(?: *:.*\n)*.*)"
    r"|^(?:`{3,}|:{3,})(?P<answer>\{dropdown\})"
    r"|^(?P<heading>#+) ",
    flags=re.MULTILINE,
)
FOLDING = {"hide-output", "hide-cell"}


def boxes_without_an_answer(page):
    """The first words of the questions whose answer isn't folded."""
    waiting, found = None, []
    for part in page.parts:
        if isinstance(part, CodeCell):
            waiting = None if part.tags & FOLDING else waiting
            continue
        for event in EVENTS.finditer(part):
            if event["answer"]:
                waiting = None
                continue
            found += [waiting] if waiting else []
            waiting = (
                " ".join(event["body"].split("\n")[-1].split()[:8]) if event["fence"] else None
            )
    return found + ([waiting] if waiting else [])


def page_of(*parts):
    return read_page(COURSE.book / "page.md", FRONT + "\n# Title\n\n" + "\n".join(parts))


BOX = "```{admonition} Predict\n:class: tip\nHow large is it, in your view?\n```\n"
CELL = "```{code-cell} ipython3\nprint(1)\n```\n"
FOLDED = "```{code-cell} ipython3\n:tags: [hide-output]\nprint(1)\n```\n"
ANSWER = "```{dropdown} Answer\nLarge.\n```\n"
QUESTION = "How large is it, in your view?"


def test_answers_are_found():
    assert boxes_without_an_answer(page_of(BOX, FOLDED, CELL)) == []
    assert boxes_without_an_answer(page_of(BOX, CELL, "Words.\n", ANSWER)) == []
    nested = BOX.replace("```", "````").replace("view?\n", f"view?\n\n{ANSWER}")
    assert boxes_without_an_answer(page_of(nested, CELL)) == []


def test_boxes_without_an_answer_are_found():
    assert boxes_without_an_answer(page_of(BOX, CELL)) == [QUESTION]
    assert boxes_without_an_answer(page_of(BOX, "## Next\n", FOLDED)) == [QUESTION]
    other = BOX.replace("How", "And how")
    assert boxes_without_an_answer(page_of(BOX, other, FOLDED)) == [QUESTION]
    assert boxes_without_an_answer(page_of(ANSWER, BOX)) == [QUESTION]


def test_every_prediction_can_be_checked():
    pages = {path.stem: read_page(path) for path in sorted(COURSE.book.glob("ch*.md"))}
    assert [(n, box) for n, p in pages.items() for box in boxes_without_an_answer(p)] == []
