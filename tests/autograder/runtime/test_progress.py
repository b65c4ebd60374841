"""Points by task in a notebook: what was checked, what is open, what a person reads."""

import pytest

from autograder.build.source_notebook import source_notebook
from autograder.exercises import CHECK_CELLS, tasks
from autograder.instructor_settings import Settings
from autograder.runtime.notebook import AutotestFailure, Checks
from autograder.runtime.progress import MIME, Progress, Task
from tests.support.notebook_checks import HALVED, SECTIONS, values_cell

TASKS = [
    Task("1. Doubling", {"values": 2.5, "edges": 2}),
    Task("2. Shifting", {"shifted": 1}, written=3),
    Task("3. In words", {}, written=2),
]


def lines(progress):
    return repr(progress.report()).splitlines()


def test_what_has_not_run_is_not_checked_yet_and_no_zero():
    found = lines(Progress(TASKS))
    assert found[0] == "✗ 1. Doubling   4.5 points, not checked yet"
    assert found[1].endswith(
        "1 points, not checked yet; written answer: 3 points, read by a person"
    )
    assert found[2] == "  3. In words   written answer: 2 points, read by a person"
    assert "Together 0 of 5.5 points." in found[-1]


def test_a_task_in_part_says_what_is_open():
    progress = Progress(TASKS)
    progress.record("values", 1)
    assert lines(progress)[0] == (
        "✗ 1. Doubling   1 of 4.5 points; 2 not checked yet; look at values"
    )
    progress.record("values", 2.5)
    progress.record("edges", 0)
    assert lines(progress)[0] == "✗ 1. Doubling   2.5 of 4.5 points; look at edges"
    progress.record("edges", 2)
    assert lines(progress)[0] == "✓ 1. Doubling   4.5 of 4.5 points"
    assert "Together 4.5 of 5.5 points." in lines(progress)[-1]


def test_the_same_is_there_as_data():
    progress = Progress(TASKS)
    progress.record("shifted", 1)
    report = progress.report()
    bundle = report._repr_mimebundle_()
    assert bundle["text/plain"] == repr(report)
    assert bundle[MIME][1] == {
        "name": "2. Shifting",
        "points": 1,
        "earned": 1,
        "unchecked": 0,
        "written": 3,
        "waiting": 0,
    }


def test_points_that_wait_for_an_earlier_answer_are_no_lost_points():
    progress = Progress(TASKS)
    progress.record("values", 1)
    progress.record("edges", 2)
    progress.record("shifted", 0, 1, ["double"])
    found = lines(progress)
    assert found[1].startswith("✗ 2. Shifting   0 of 1 points; 1 waits for your `double`; look at")
    assert found[-1].startswith(
        "Together 3 of 5.5 points; 1 waits for your `double`, and 1.5 are open."
    )
    progress.record("shifted", 1)
    assert "waits" not in repr(progress.report())


def test_a_check_that_runs_again_counts_as_it_ran_last():
    checks = Checks({"halved": HALVED}, SECTIONS, tasks=TASKS)
    for double, earned in ((lambda x: 2.0 * x, 2.5), (lambda x: 7.0 * x, 0)):
        try:
            checks.run_cell("values", values_cell(), {"double": double})
        except AutotestFailure:
            assert earned == 0
        assert checks.progress.report().standings[0].earned == earned


def test_an_answer_that_nobody_has_begun_is_checked_and_has_no_points():
    def stub(x):
        raise NotImplementedError("To do: put your code in place of this line.")

    checks = Checks({"halved": HALVED}, SECTIONS, tasks=TASKS)
    with pytest.raises(AutotestFailure):
        checks.run_cell("values", values_cell(), {"double": stub})
    assert lines(checks.progress)[0].endswith("0 of 4.5 points; 2 not checked yet; look at values")


def test_every_exercise_ends_with_its_points(exercise):
    notebook = source_notebook(exercise, Settings())
    last = notebook.cells[-1]
    own = last.metadata.nbgrader
    assert last.source == "progress()" and last.id == own.grade_id == "progress"
    assert own.locked and not own.grade and not own.solution
    # students' kernels don't run it, and an answer key knows nothing of it
    assert last.id in CHECK_CELLS
    found = tasks(notebook)
    graded = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
    total = sum(cell.metadata.nbgrader.points for cell in graded)
    assert sum(sum(task.checks.values()) + task.written for task in found) == total
    assert all(task.name[0].isdigit() for task in found)
    assert sum(task.written > 0 for task in found) == sum(c.cell_type == "markdown" for c in graded)
