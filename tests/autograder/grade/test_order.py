"""In which order a notebook is run whose student has moved cells: own cells never later than in their file."""

import random

import pytest
from nbformat.v4 import new_code_cell

from autograder.exercises import is_answer_cell, is_grade_cell, reference_answers, released, solved
from autograder.grade.sanitize import sanitized
from autograder.grade.submission import Submission, SubmittedCell
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch2_scaled_dot_product")
RELEASE = released(EXERCISE)
OWN = [f"own_{number} = {number}" for number in range(8)]


def run_order(cells):
    """The code cells as they are run: names of released ones, sources of the student's own."""
    submitted = tuple(
        SubmittedCell(cell.cell_type, cell.source, cell.get("metadata", {}).get("id"), cell.id)
        for cell in cells
    )
    notebook, remarks = sanitized(Submission("ada", submitted), RELEASE, {})
    assert not [remark for remark in remarks if remark.kind != "written_beside"]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell.id if "nbgrader" in cell.metadata else cell.source for cell in code]


def names(kind):
    return [cell.id for cell in RELEASE.cells if kind(cell)]


def shuffled(seed):
    """The solved exercise with own cells, its answers and checks in some order."""
    cells = solved(EXERCISE, reference_answers(EXERCISE)).cells
    for number, code in enumerate(OWN):
        cells.insert(4 + 3 * number, new_code_cell(code))
    draw = random.Random(seed)
    places = [n for n, cell in enumerate(cells) if is_answer_cell(cell) or is_grade_cell(cell)]
    for _ in range(draw.randint(1, 6)):
        one, other = draw.sample(places, 2)
        cells[one], cells[other] = cells[other], cells[one]
    return cells


@pytest.mark.parametrize("seed", range(40))
def test_own_cells_and_answers_run_no_later_than_in_the_students_file(seed):
    cells = shuffled(seed)
    order = run_order(cells)
    assert sorted(order) == sorted(
        c.source if c.source in OWN else c.id for c in cells if c.cell_type == "code"
    )
    given = [cell.source if cell.source in OWN else cell.id for cell in cells]
    answers, checks = names(is_answer_cell), names(is_grade_cell)
    before = {name: set(given[: given.index(name)]) for name in (*OWN, *answers, *checks)}
    for check in checks:
        above = set(order[: order.index(check)])
        # what a check found in the file it finds here, and the answers that are released above it
        assert before[check] & {*OWN, *answers} <= above
        released_above = set(RELEASE_ORDER[: RELEASE_ORDER.index(check)]) & set(answers)
        assert released_above <= above
    students = [name for name in given if name in OWN or name in answers]
    assert [name for name in order if name in students] == students
    # what prepares a notebook comes first
    assert order[:3] == ["imports", "checker", "check_data"]


RELEASE_ORDER = [cell.id for cell in RELEASE.cells]


def test_a_notebook_in_its_order_stays_in_it():
    cells = solved(EXERCISE, reference_answers(EXERCISE)).cells
    cells.insert(8, new_code_cell(OWN[0]))
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert run_order(cells) == [c.source if c.source == OWN[0] else c.id for c in code]


def test_an_own_cell_runs_before_the_checks_that_followed_it_whatever_it_followed_itself():
    cells = solved(EXERCISE, reference_answers(EXERCISE)).cells
    progress = next(cell for cell in cells if cell.id == "progress")
    cells.remove(progress)
    # the last released cell, moved to the top, and a helper behind it
    cells[4:4] = [progress, new_code_cell(OWN[0])]
    order = run_order(cells)
    assert order.index(OWN[0]) < order.index("softmax")


def test_what_is_missing_stands_where_it_was_released():
    cells = [c for c in shuffled(3) if c.id not in ("attention", "softmax_edges")]
    submitted = tuple(SubmittedCell(c.cell_type, c.source, c.id, c.id) for c in cells)
    notebook, _ = sanitized(Submission("ada", submitted), RELEASE, {})
    found = [cell.id for cell in notebook.cells]
    assert {"attention", "softmax_edges"} <= set(found)
    assert found.index("softmax") < found.index("softmax_edges")
    assert found.index("attention") < found.index("attention_values")
