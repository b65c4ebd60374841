"""Exercises that leave what earlier ones built to a file: built, solved and graded."""

import sys

import nbformat
import pytest

from autograder.course import Course
from autograder.exercises import metadata_of, reference_answers, solved
from tests.support.copies import command, repository
from tests.support.few_mistakes import leave_out_mistakes
from tests.support.grading import grade_here

pytestmark = pytest.mark.xdist_group("hold back")
EXERCISE = "ch3_multi_head"
FILE = "built_so_far.py"
OWN_IMPORT = f"from {FILE.removesuffix('.py')} import attention as theirs"


@pytest.fixture(scope="module")
def held_back(tmp_path_factory):
    """A copy of the course with one exercise whose earlier code is held back, and that code's file."""
    root = repository(tmp_path_factory.mktemp("held_back"))
    done = command(root, "build", "--hold-back", "--exercise", EXERCISE)
    assert done.status == 0, done.stderr
    course = Course(root)
    path = course.home / "built_so_far" / EXERCISE / FILE
    assert str(path) in done.stdout
    # an answer key is made in a fifth of the time
    leave_out_mistakes(root)
    return course, path


@pytest.fixture(scope="module")
def results(held_back):
    """Results by student: each hands in the same right answers, and another file, or none."""
    course, path = held_back
    exercise = course.exercise(EXERCISE)
    right = path.read_text(encoding="utf-8")
    files = {"without": None, "with": right, "broken": "raise SystemExit", "importing": None}
    for student, text in files.items():
        folder = course.submitted / student / EXERCISE
        folder.mkdir(parents=True)
        notebook = solved(exercise, reference_answers(exercise))
        if student == "importing":
            number = next(
                n for n, cell in enumerate(notebook.cells) if metadata_of(cell).get("solution")
            )
            notebook.cells.insert(number, nbformat.v4.new_code_cell(OWN_IMPORT))
        nbformat.write(notebook, folder / exercise.notebook.name)
        if text is not None:
            (folder / FILE).write_text(text, encoding="utf-8")
    return {result.student: result for result in grade_here(course, EXERCISE)}


@pytest.mark.parametrize("student", ["without", "with", "broken", "importing"])
def test_right_answers_get_full_marks_whatever_file_comes_with_them(results, student):
    result = results[student]
    assert result.score == result.points > 0
    assert not result.remarks


def test_the_notebook_does_not_hold_what_it_holds_back(held_back):
    course, path = held_back
    text = course.exercise(EXERCISE).notebook.read_text(encoding="utf-8")
    assert "def attention(" in path.read_text(encoding="utf-8")
    assert "def attention(" not in text
    # nbgrader copies files that lie beside a notebook to students
    assert [p.name for p in course.exercise(EXERCISE).notebook.parent.iterdir()] == [
        f"{EXERCISE}.ipynb"
    ]


def test_a_student_runs_it_with_the_file(held_back, tmp_path, monkeypatch):
    """The locked cells run where the file lies, and say what is missing where it doesn't."""
    from IPython.core.interactiveshell import InteractiveShell

    course, path = held_back
    cells = nbformat.read(course.exercise(EXERCISE).notebook, as_version=4).cells
    source = {cell.id: cell.source for cell in cells}
    monkeypatch.chdir(tmp_path)
    # the shell takes the place of __main__, whose file new worker processes would look for
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    shell = InteractiveShell()
    shell.run_cell(source["imports"]).raise_error()
    found = shell.run_cell(source["built_so_far"])
    assert FILE in str(found.error_in_exec)
    (tmp_path / FILE).write_bytes(path.read_bytes())
    shell.run_cell(source["built_so_far"]).raise_error()
    # as in the cell: a definition of the notebook itself, not of a module
    assert shell.user_ns["attention"].__globals__ is shell.user_ns
