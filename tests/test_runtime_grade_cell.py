"""A grade cell read into its steps, and its inputs drawn."""

from autograder.runtime.draw import Draw
from autograder.runtime.grade_cell import Agreement, Check, checks_with_inputs, parse_cell

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
