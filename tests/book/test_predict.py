"""Predictions: a reader can think before looking, and one fold has the answer with what explains it."""

import ast
import re

import pytest

from autograder.publish.page_source import CodeCell, read_page
from tests.support.course import COURSE
from tests.support.small_book import FRONT

FOLDING = {"hide-output", "hide-cell"}
# of cells whose output nobody sees
SILENT = {"remove-cell", "remove-output"}
FEWEST_WORDS = 8

BEGIN, END = "{predict}", "{predict-end}"
MARKS = re.compile(
    r"^(?::{3,}(?P<mark>\{predict\}|\{predict-end\}) *(?P<question>.*)\n(?P<body>(?:(?!:{3}).*\n)*):{3,} *"
    r"|(?:`{3,}|:{3,})(?P<dropdown>\{dropdown\}).*"
    r"|(?P<heading>#+) .*)$",
    flags=re.MULTILINE,
)
GLUED = re.compile(r"\{glue:?\w*\}`(\w+)")


def faults(page):
    """What is wrong with a page's predictions, as pairs of the question's first words and the fault."""
    found, question, held, given = [], None, None, set()
    for part in page.parts:
        if isinstance(part, CodeCell):
            if held is not None:
                if part.tags & FOLDING:
                    found.append((question, "has a fold in its fold"))
                held.append(part)
            continue
        last = 0
        for mark in [*MARKS.finditer(part), None]:
            text = part[last : mark.start() if mark else len(part)]
            last = mark.end() if mark else last
            if held is not None:
                held.append(text)
            elif given & set(GLUED.findall(text)):
                found.append((question, "has a number of its answer in the open"))
            if not mark:
                continue
            if mark["mark"] == BEGIN:
                if held is not None:
                    found.append((question, "does not end"))
                question, held = " ".join(mark["question"].split()[:6]), []
            elif mark["mark"] == END:
                if held is None:
                    found.append((question, "has ended already"))
                else:
                    found += [(question, fault) for fault in faults_of(held)]
                    given = names_given(held)
                held = None
            elif mark["dropdown"]:
                if held is not None:
                    found.append((question, "has a fold in its fold"))
            else:
                given = set()
                if held is not None:
                    found.append((question, "does not end in its section"))
                    held = None
    if held is not None:
        found.append((question, "does not end"))
    return found


def faults_of(held):
    """What is wrong with what a fold holds."""
    outputs = [part for part in held if isinstance(part, CodeCell) and not part.tags & SILENT]
    words = sum(len(re.findall(r"\w+", part)) for part in held if isinstance(part, str))
    if not outputs:
        yield "has no output in its fold"
    if words < FEWEST_WORDS:
        yield "has no prose in its fold"


def names_given(held):
    """The names that cells of a fold give to the text."""
    return {
        node.args[0].value
        for part in held
        if isinstance(part, CodeCell)
        for node in ast.walk(part.tree())
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in ("glue", "note")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def page_of(*parts):
    return read_page(COURSE.book / "page.md", FRONT + "\n# Title\n\n" + "\n".join(parts))


def cell(code="print(1)", tags=""):
    return f"```{{code-cell}} ipython3\n{f':tags: [{tags}]' if tags else ''}\n{code}\n```\n"


ASK = ":::{predict} How large is it, in your view?\n:shows: the number\n- small\n- large\n:::\n"
WHY = "It's larger than most people think, because all of them count.\n"
STOP = ":::{predict-end}\n:::\n"
SHOWN = cell('print(1)\nnote("size", 1)')
DROPDOWN = "```{dropdown} Answer\nLarge.\n```\n"
QUESTION = "How large is it, in your"


@pytest.mark.parametrize(
    "parts",
    [
        [ASK, SHOWN, WHY, STOP],
        [cell(), ASK, cell(), WHY, cell(tags="remove-cell"), STOP, "Words."],
        [ASK, SHOWN, WHY, STOP, "## Later\n", "It's {glue:text}`size:.0f`."],
    ],
)
def test_good_predictions(parts):
    assert faults(page_of(*parts)) == []


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ([ASK, WHY, STOP], "has no output in its fold"),
        ([ASK, cell(tags="remove-cell"), WHY, STOP], "has no output in its fold"),
        ([ASK, SHOWN, STOP, WHY], "has no prose in its fold"),
        (
            [ASK, SHOWN, WHY, STOP, "It's {glue:text}`size:.0f`."],
            "has a number of its answer in the open",
        ),
        ([ASK, SHOWN, WHY, cell(tags="hide-output"), STOP], "has a fold in its fold"),
        ([ASK, SHOWN, WHY, DROPDOWN, STOP], "has a fold in its fold"),
        ([ASK, SHOWN, WHY], "does not end"),
        ([ASK, SHOWN, WHY, "## Next\n"], "does not end in its section"),
        ([ASK, SHOWN, WHY, STOP, STOP], "has ended already"),
    ],
)
def test_bad_predictions(parts, fault):
    assert faults(page_of(*parts)) == [(QUESTION, fault)]


def test_every_prediction_can_be_checked():
    pages = {path.stem: read_page(path) for path in sorted(COURSE.book.glob("ch*.md"))}
    assert [(name, *fault) for name, page in pages.items() for fault in faults(page)] == []
