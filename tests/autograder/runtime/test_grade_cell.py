"""A grade cell read into its steps, and its inputs drawn."""

import pytest

from autograder.runtime.draw import Draw
from autograder.runtime.grade_cell import (
    Agreement,
    Check,
    Sentence,
    checks_with_inputs,
    parse_cell,
)

SOURCE = "%%autotest c\nforbid('Transformer')\nx = 1\ncheck('f(x)', points=2, answer='a')"
AGREEMENT = """%%autotest c
check('before(rows)', points=1)
agreement('targets', share=0.75, seconds=40)
targets = [[int(n)] for n in draw.permutation(8)]
rows = targets[::-1]
check('answer(rows)', points=2)"""


def test_a_cell_is_read_into_its_steps():
    cell = parse_cell(SOURCE)
    assert cell.forbidden == ("Transformer",)
    assert cell.steps == ("x = 1", Check("f(x)", 2, "a"))
    assert cell.checks == [Check("f(x)", 2, "a")]


def test_what_a_cell_asks_does_not_hold_its_answers():
    asks = parse_cell(SOURCE).asks()
    assert asks == parse_cell(SOURCE.replace("'a'", "'b'")).asks()
    for old, new in (("points=2", "points=3"), ("x = 1", "x = 2"), ("Transf", "transf")):
        assert asks != parse_cell(SOURCE.replace(old, new)).asks()


def test_each_line_gets_inputs_that_nobody_has_changed():
    cell = parse_cell("x = np.zeros(2)\ncheck('a', points=1)\ncheck('b', points=1)")
    seen = []
    for _, inputs in checks_with_inputs(cell, Draw(0)):
        assert list(inputs) == ["x"]
        seen.append(inputs["x"].tolist())
        inputs["x"] += 1
    assert seen == [[0, 0], [0, 0]]


def test_a_share_of_a_list_is_asked_of_the_lines_below():
    before, line = parse_cell(AGREEMENT).checks
    assert before.agreement is None
    assert line.agreement == Agreement("targets", 0.75, 40)


SAYS = """says("is right", parts=("step {n}", ["a", "b"]), case=False)
check('[f(n) for n in steps]', points=1)
check('g(n)', points=1)"""


def test_a_sentence_belongs_to_the_line_below_it_alone():
    said, silent = parse_cell(SAYS).checks
    assert said.says == Sentence("is right", ("step {n}", ("a", "b")), case=False)
    assert silent.says is None
    assert parse_cell("says('x', parts=['a'])\ncheck('f()', points=1)").checks[0].says == (
        Sentence("x", (("a",),))
    )


def test_a_cells_words_are_not_what_it_asks():
    assert parse_cell(SAYS).asks() == parse_cell(SAYS.partition("\n")[2]).asks()


@pytest.mark.parametrize("below", ["n = 1\ncheck('f(n)', points=1)", "says('b')", ""])
def test_a_sentence_that_stands_above_no_line_is_refused(below):
    with pytest.raises(ValueError, match=r"says\('a'\).*directly above"):
        parse_cell(f"says('a')\n{below}")
