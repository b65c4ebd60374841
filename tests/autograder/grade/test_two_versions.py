"""An exercise whose points have changed: dropped questions, and no grades of two versions at once."""

import re
import shutil

import nbformat
import pytest

from autograder.course import Course
from autograder.exercises import grade_cells, metadata_of, released, solved
from autograder.grade.examine import Graded
from autograder.grade.gradebook import Recorder, autograded_notebook, register
from autograder.grade.result import Basis, CellResult, LineResult, Result
from autograder.instructor_settings import Limits
from autograder.runtime.compare import Difference
from autograder.runtime.grade_cell import parse_cell
from tests.support.copies import command
from tests.support.course import COURSE

NAME, CHECK = "ch1_additive_attention", "additive_scores_values"
QUESTION = "previous_state"
GONE = Difference("cell_failed", {"answer": "a<b>", "error": "NameError"})


@pytest.fixture
def course(course_folder):
    """A course with one exercise, and an empty class."""
    shutil.copytree(COURSE.root / "exercises" / NAME, course_folder / "exercises" / NAME)
    for place in (f"solutions/{NAME}.py", f"solutions/catalogue/{NAME}.md"):
        shutil.copy(COURSE.root / place, course_folder / place)
    made = Course(course_folder)
    made.home.mkdir()
    return made


def record(course, student, wrong=()):
    """Hand in for a student, and record a result by the exercise as it is released now.

    wrong: grade cells whose lines all fail.
    """
    exercise = course.exercise(NAME)
    notebook = solved(exercise, {}, written="Because.")
    folder = course.submitted / student / NAME
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{NAME}.ipynb")
    cells = tuple(
        CellResult(
            name,
            tuple(
                LineResult(one.expression, one.points, GONE if name in wrong else None)
                for one in parse_cell(text).checks
            ),
        )
        for name, text in grade_cells(notebook).items()
    )
    result = Result(student, NAME, cells, (), Basis("", "", Limits(), {}), 1.0)
    with Recorder(course) as recorder:
        recorder.record(Graded(result, notebook))


def two_points_more(course):
    """Change the points of a check, and release it."""
    exercise = course.exercise(NAME)
    notebook = released(exercise)
    (cell,) = [cell for cell in notebook.cells if metadata_of(cell).get("grade_id") == CHECK]
    assert cell.source.count("points=2") == 1
    cell.source = cell.source.replace("points=2", "points=4")
    cell.metadata.nbgrader.points += 2
    nbformat.write(notebook, exercise.notebook)
    assert register(course, exercise, rerelease=True)


def test_an_interrupted_rerelease_is_finished_before_grades_are_told(course):
    register(course, course.exercise(NAME))
    for student in ("ada", "ben"):
        record(course, student)
    output = course.root / "grades.csv"
    export = ("export", "--format", "csv", "--output", output)
    assert command(course.root, *export).status == 0
    before = output.read_text()
    two_points_more(course)
    record(course, "ada")
    returned = ("return-zip", "--lms", "canvas", "--exercise", NAME, "--output", "feedback.zip")
    for words in (export, ("feedback",), ("report",), returned):
        done = command(course.root, *words)
        assert done.status == 2, words
        assert "1 of 2 submissions are still graded by an older version" in done.stderr
        assert "`python -m autograder grade`" in done.stderr
    assert output.read_text() == before
    record(course, "ben")
    done = command(course.root, *export)
    assert done.status == 0, done.stderr
    maximum = {row.split(",")[0]: row.split(",")[1] for row in before.splitlines()}["maximum"]
    assert f"maximum,{float(maximum) + 2:g}" in output.read_text()


def test_students_read_that_a_dropped_question_does_not_count(course):
    exercise = course.exercise(NAME)
    notebook = released(exercise)
    for cell in notebook.cells:
        if metadata_of(cell).get("grade_id") == CHECK:
            cell.source, number = re.subn(r"points=\d+", "points=0", cell.source)
        if metadata_of(cell).get("grade_id") in (CHECK, QUESTION):
            cell.metadata.nbgrader.points = 0
    nbformat.write(notebook, exercise.notebook)
    register(course, exercise)
    record(course, "ada", wrong=[CHECK])
    assert command(course.root, "feedback").status == 0
    page = (course.feedback / "ada" / NAME / f"{NAME}.html").read_text(encoding="utf-8")
    assert page.count("doesn't count:</strong>") == number > 1
    assert "<p>This question doesn't count.</p>" in page
    assert "of 0 points" not in page and "Not read yet" not in page
    # names of code in a sentence are code
    assert page.count("<code>a&lt;b&gt;</code> doesn&#x27;t exist") == number
    graded = nbformat.read(autograded_notebook(course, "ada", NAME), as_version=4)
    (cell,) = [cell for cell in graded.cells if metadata_of(cell).get("grade_id") == CHECK]
    for kind in ("text/plain", "text/html"):
        assert cell.outputs[0].data[kind].count("✗ doesn't count:") == number
