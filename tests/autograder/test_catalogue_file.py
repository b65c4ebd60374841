"""The form of a catalogue: what it says, and what is refused, with file and line."""

import re

import pytest

from autograder.catalogue import mistake_source
from autograder.catalogue_file import read_catalogue
from autograder.diffs import Hunk
from autograder.errors import CatalogueError
from autograder.rules import Rule

FILE = "solutions/catalogue/ch1_x.md"
TEXT = """\
Words for people come first.

# double: double_values, ch1-double

## halved
Half of it.
*Hint:* Which
factor?
`2 * x -> x / 2`

## shifted [ch1-other]
One too many. *Hint:* Where does it begin?
```rule
2 * x -> 2 * x + 1

x -> y
```
<!-- a remark -->
```diff
-return 2 * x
+return 0
```

# more: more_values

## more of it [ch1-more]
Like *halved*.
Half of more.
*Hint:* Which one?
```python
# a comment is no heading
def more(x):
    return x
```

## twice less [ch1-more]
Like *halved*.

# double: double_edges, ch1-edges

# Alternatives

## a sum
Shorter,
and slower.
```python
def double(x):
    return x + x
```

# Other ways

## double
With a list. *Cost:* Memory.
```python
def double(x):
    if x:
        found = [x, x]  # shown
        # shown: ...  # more
        return sum(found)  # shown: sum(found)
```
"""
WAY = TEXT.partition("# Other ways\n")[2]


def read(text):
    return read_catalogue(text, FILE)


def test_a_catalogue_says_what_its_sections_say():
    found = read(TEXT)
    assert found.sections == {"double_values": "ch1-double", "double_edges": "ch1-edges"}
    halved, shifted, more, less = found.mistakes.values()
    assert (halved.function, halved.cell, halved.section) == (
        "double",
        "double_values",
        "ch1-double",
    )
    assert (halved.means, halved.hint) == ("Half of it.", "Which factor?")
    assert halved.edits == (Rule("2 * x", "x / 2", 9),) and (halved.file, halved.line) == (FILE, 5)
    assert (shifted.means, shifted.hint) == ("One too many.", "Where does it begin?")
    assert shifted.section == "ch1-other"
    assert shifted.edits == (
        Rule("2 * x", "2 * x + 1", 14),
        Rule("x", "y", 16),
        Hunk(("-return 2 * x", "+return 0"), 20),
    )
    # a twin has its own words and change, or those of the other
    assert (more.like, more.means, more.edits) == ("halved", "Half of more.", ())
    assert more.source == "# a comment is no heading\ndef more(x):\n    return x"
    assert (less.function, less.section, less.like) == ("more", "ch1-more", "halved")
    assert (less.means, less.hint, less.edits) == (halved.means, halved.hint, halved.edits)
    (alternative,) = found.alternatives.values()
    assert (alternative.name, alternative.cost) == ("a sum", "Shorter, and slower.")
    assert alternative.source == "def double(x):\n    return x + x"


def test_students_see_the_marked_lines_of_a_way():
    (discussion,) = read(TEXT + WAY).discussions.values()
    assert discussion.function == "double" and len(discussion.ways) == len(discussion.programs) == 2
    way = discussion.ways[0]
    assert (way.words, way.cost) == ("With a list.", "Memory.")
    assert way.fragment == "found = [x, x]\n...  # more\nsum(found)"
    names = {}
    exec(discussion.programs[0], names)
    assert names["double"](2) == 4


@pytest.mark.parametrize(
    ("old", "new", "line", "complaint"),
    [
        ("# double: double_values, ch1-double", "# double", 3, "`# double` is neither"),
        (
            "# double: double_edges, ch1-edges",
            "# double: double_values, other",
            39,
            "was ch1-double",
        ),
        ("# Alternatives", "# double: double_edges\n```python\n```", 41, "code stands below"),
        ("# double: double_values, ch1-double", "", 5, "a mistake stands below"),
        ("## shifted", "## halved", 11, "there is a mistake called 'halved' above"),
        ("Half of it.\n", "", 5, "'halved' needs words on what its values mean"),
        ("*Hint:* Which\nfactor?", "*Hint:*", 5, "'halved' needs a hint, behind `*Hint:*`"),
        ("`2 * x -> x / 2`\n", "", 5, "'halved' needs a change"),
        ("`2 * x -> x / 2`", "`2 * x -> x /`", 9, "`2 * x -> x /` is no rule"),
        ("x -> y\n", "x -> $Y\n", 16, "nothing on the left says what $Y is"),
        ("-return 2 * x", "return 2 * x", 20, "begins with -, + or a space"),
        ("```diff", "```patch", 19, "```patch is none of"),
        ("```diff", "```python", 11, "'shifted' has a whole answer and another change"),
        ("Like *halved*.\nHalf", "Like *quartered*.\nHalf", 26, "above is called 'quartered'"),
        (" [ch1-more]", "", 26, "'more of it' needs a section of the book"),
        ("Shorter,\nand slower.\n```python", "```python\n```\n```python", 43, "has one fence"),
        ("# Other ways", "## a sum\n```python\n```", 51, "an alternative 'a sum' above"),
        (" *Cost:* Memory.", "", 53, "another way is words, what it costs"),
        ("sum(found)  # shown: sum", "sum(found)  # shown: max", 53, "`max(found)` is no part of"),
        ("    if x:\n", "    if x:  # shown\n", 53, "students are shown 4 lines"),
        ("    return sum(found)  # shown: sum(found)\n```\n", "", 55, "this fence isn't closed"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(old, new, line, complaint):
    assert old in TEXT
    with pytest.raises(CatalogueError, match=re.escape(complaint)) as caught:
        read(TEXT.replace(old, new, 1))
    assert str(caught.value).startswith(f"{FILE}, line {line}: ")


BEGINS = """
# double: double_values, ch1-double

## squared
Like *halved*. From *shifted*. The square and one.
*Hint:* Which sign?
`2 * x -> x * x`

## squared less
Like *squared*.
"""
SHIFTED = "2 * x -> 2 * x + 1\n\nx -> y\n```\n<!-- a remark -->\n```diff\n-return 2 * x\n+return 0"


def test_a_mistake_begins_from_the_answer_of_another_one():
    assert SHIFTED in TEXT
    text = TEXT.replace(SHIFTED, "2 * x -> 2 * x + 1").partition("# Alternatives")[0]
    found = read(text + BEGINS).mistakes
    assert (found["squared"].like, found["squared"].means) == ("halved", "The square and one.")
    program = "def double(x):\n    return 2 * x"
    for name in ("squared", "squared less"):
        assert found[name].start == found["shifted"]
        assert mistake_source(program, found[name]) == "def double(x):\n    return x * x + 1"
    with pytest.raises(CatalogueError, match=r"`3 \* x` occurs nowhere") as caught:
        broken = read(text + BEGINS.replace("2 * x -> x * x", "3 * x -> x")).mistakes
        mistake_source(program, broken["squared"])
    assert "'squared' doesn't fit the mistake 'shifted'" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("From *shifted*", "From *moved*", "44: no mistake above is called 'moved'"),
        ("From *shifted*", "From *squared*", "44: no mistake above is called 'squared'"),
        ("From *shifted*", "From *more of it*", "44: 'squared' begins from 'more of it'"),
        ("`2 * x -> x * x`\n", "", "44: 'squared' begins from 'shifted', so it needs a rule"),
        (
            "`2 * x -> x * x`",
            "```python\ndef double(x):\n    return 0\n```",
            "44: 'squared' begins from 'shifted', so it needs a rule or a diff",
        ),
        ("\n## squared less", "\n# more: more_values, ch1-more\n\n## less", "is one to 'double'"),
    ],
    ids=[
        "no name",
        "itself",
        "another task",
        "no change",
        "whole answer",
        "like one of another task",
    ],
)
def test_a_mistake_that_begins_from_what_is_no_answer_to_its_task_is_refused(old, new, complaint):
    text = TEXT.partition("# Alternatives")[0]
    assert old in BEGINS
    with pytest.raises(CatalogueError, match=re.escape(complaint)):
        read(text + BEGINS.replace(old, new))


def test_a_third_way_is_refused():
    with pytest.raises(CatalogueError, match="line 73: double has 2 other ways above"):
        read(TEXT + WAY + WAY)


def test_a_change_that_does_not_fit_says_where_it_stands_and_what_it_looks_for():
    found = read(TEXT).mistakes
    with pytest.raises(
        CatalogueError, match=r"ch1_x\.md, line 9: 'halved' .* `2 \* x` occurs nowhere"
    ):
        mistake_source("def double(x):\n    return x + x", found["halved"])
    with pytest.raises(CatalogueError, match="defines no 'double'"):
        mistake_source("def other(x):\n    return 2 * x", found["halved"])
