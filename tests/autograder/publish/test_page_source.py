"""Pages taken apart; how wide their code may be and how long they may be."""

import ast
import re
from pathlib import Path

import pytest

from autograder.errors import BookError
from autograder.publish.page_source import CodeCell, PageSource, read_page
from tests.support.course import COURSE
from tests.support.small_book import FRONT

PAGE = """\
# Two words here

```{code-cell} ipython3
:tags: [remove-cell]
hidden = 1
```

```{note}
:class: tip
Five more words, 2 numbers 7 - and
<svg><text>not this</text></svg> <b class="x">bold</b> .
```

```{code-cell} ipython3
:tags: [hide-input, other]
%matplotlib inline
shown = hidden + 1
```
"""
MOST_COLUMNS = 72


def sources():
    return {path.stem: read_page(path) for path in sorted(COURSE.book.glob("*.md"))}


def test_a_page_is_taken_apart():
    page = read_page(Path("x.md"), FRONT + PAGE)
    first, second = page.cells
    assert (first.number, first.visible, first.source) == (1, False, "hidden = 1")
    assert (second.number, second.visible) == (2, True)
    assert second.tags == {"hide-input", "other"}
    assert second.program() == "\nshown = hidden + 1"
    assert [isinstance(part, CodeCell) for part in page.parts] == [False, True, False, True]
    # three of the heading, nine of the note, four of the cell
    assert page.words() == 3 + 9 + 4
    assert page.minutes() == 1


def test_minutes_are_rounded_up():
    assert PageSource(("word " * 4000,)).minutes() == 25
    assert PageSource(("word " * 4001,)).minutes() == 26


def test_incomplete_front_matter_is_an_error():
    with pytest.raises(BookError, match=r"x\.md is incomplete"):
        read_page(Path("x.md"), "---\nkernelspec:\n  name: python3\n---\n# No\n")


def test_visible_code_is_narrow():
    wide = [
        (name, line)
        for name, page in sources().items()
        for cell in page.cells
        if cell.visible
        for line in cell.source.split("\n")
        if len(line) > MOST_COLUMNS
    ]
    assert wide == []


def named(tree, name):
    """A function or class by its name, such as "Model.forward"."""
    for part in name.split("."):
        tree = next(node for node in ast.walk(tree) if getattr(node, "name", None) == part)
    return tree


def test_code_that_pages_show_is_narrow():
    shown = {
        ((path.parent / name).resolve(), *re.findall(r"^:pyobject: (\S+)$", options, re.MULTILINE))
        for path in COURSE.book.glob("*.md")
        for name, options in re.findall(
            r"^`{3,}\{literalinclude\} (\S+)\n((?::.*\n)*)", path.read_text(), re.MULTILINE
        )
    }
    assert len(shown) > 5
    for path, *part in shown:
        if path.suffix != ".py":
            continue  # a message of a check, whose lines wrap
        text = path.read_text()
        lines = text.split("\n")
        if part:
            found = named(ast.parse(text), part[0])
            lines = lines[found.lineno - 1 : found.end_lineno]
        assert max(map(len, lines)) <= MOST_COLUMNS, (path.name, *part)
