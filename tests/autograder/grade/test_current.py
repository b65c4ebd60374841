"""When a grade is current, and what feedback follows without grading again."""

import dataclasses
import os
import subprocess
import sys

import pytest
from nbgrader.api import Gradebook

from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Course
from autograder.exercises import reference_answers, released, solved
from autograder.grade import examine
from autograder.grade.feedback import feedback_page, write_feedback
from autograder.grade.grade_class import Grader, handed_in, recorded_results
from autograder.grade.gradebook import autograded_notebook, stored_result
from autograder.grade.result import GRADER_VERSION
from autograder.grade.verdicts import result_path
from autograder.points import as_shown
from tests.support.class_keys import give_keys
from tests.support.copies import CELL_SECONDS, repository, with_short_limits
from tests.support.grading import grade_here
from tests.support.submissions import EXERCISE, NAME, folder_of, right, save

pytestmark = pytest.mark.xdist_group("submissions")
MISTAKE = "no scaling"


@pytest.fixture(scope="module")
def class_of_three(tmp_path_factory):
    """A graded copy: a right answer, a known mistake, and a right answer with a companion file."""
    root = repository(tmp_path_factory.mktemp("current"), few_mistakes=True)
    course = Course(with_short_limits(root))
    course.home.mkdir()
    give_keys(course, EXERCISE.name)
    (mistake,) = [m for m in mistakes(EXERCISE) if m.name == MISTAKE]
    wrong = mistake_answers(EXERCISE.program(), mistake)
    notebooks = {
        "right": right(),
        "wrong": solved(EXERCISE, reference_answers(EXERCISE) | wrong),
        "helped": right(),
    }
    for student, notebook in notebooks.items():
        folder_of(course, student).mkdir(parents=True)
        save(folder_of(course, student), notebook)
    (folder_of(course, "helped") / "data.csv").write_text("1,2")
    results = grade_here(course, EXERCISE.name)
    write_feedback(course, results)
    assert {r.student: {c.mistake for c in r.cells} - {None} for r in results} == {
        "helped": set(),
        "right": set(),
        "wrong": {MISTAKE},
    }
    return course


@pytest.fixture
def edit():
    """A function that replaces text in a file; the test's end restores it."""
    before = {}

    def edit(path, old, new):
        before.setdefault(path, path.read_bytes())
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    yield edit
    for path, content in before.items():
        path.write_bytes(content)


def to_grade(course):
    """The students whose grades are not current, seen by a grader that has read everything anew."""
    course = Course(course.root)
    exercise = course.exercise(EXERCISE.name)
    return [student for student, _ in Grader(course).stale(handed_in(course, [exercise]))]


EVERYBODY = ["helped", "right", "wrong"]


# What changes no grade --------------------------------------------------------------------------

ASK = """
from autograder.course import Course
from autograder.grade.grade_class import Grader, handed_in
course = Course.find()
exercise = course.exercise("ch2_scaled_dot_product")
print([student for student, _ in Grader(course).stale(handed_in(course, [exercise]))])
"""


def ask_anew(course, **variables):
    """`to_grade`, by the copy's own grader in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(
        command, cwd=course.root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_words_comments_and_lint_pins_grade_nobody_again(class_of_three, edit):
    course = class_of_three
    (mistake,) = [m for m in mistakes(EXERCISE) if m.name == MISTAKE]
    exercise = course.exercise(EXERCISE.name)
    edit(exercise.catalogue, f"*Hint:* {mistake.hint}", f"*Hint:* Think: {mistake.hint}")
    edit(exercise.solution, "    ### BEGIN SOLUTION\n", "    ### BEGIN SOLUTION\n    # reworded\n")
    edit(course.root / "constraints.txt", "ruff==", "ruff==99.")
    for path in sorted((course.root / "autograder").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if text:
            edit(path, text, f"{text}\n# another comment\n")
    assert ask_anew(course, BOOK_URL="https://book.example/") == "[]"


# What changes grades ----------------------------------------------------------------------------


def test_other_bytes_grade_that_student_again(class_of_three, edit):
    path = folder_of(class_of_three, "right") / NAME
    edit(path, path.read_text(encoding="utf-8"), path.read_text(encoding="utf-8") + " ")
    assert to_grade(class_of_three) == ["right"]


def test_another_file_beside_the_notebook_grades_that_student_again(class_of_three, edit):
    edit(folder_of(class_of_three, "helped") / "data.csv", "1,2", "1,3")
    assert to_grade(class_of_three) == ["helped"]


def test_another_solution_grades_everybody_again(class_of_three, edit):
    solution = class_of_three.exercise(EXERCISE.name).solution
    # another line, so that the catalogue's edits still fit
    edit(
        solution,
        "    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))",
        "    x = x + np.arange(x.shape[axis]).mean() * 1e-3 * x\n"
        "    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))",
    )
    assert to_grade(class_of_three) == EVERYBODY


def test_a_known_mistake_that_is_gone_grades_everybody_again(class_of_three, edit):
    catalogue = class_of_three.exercise(EXERCISE.name).catalogue
    edit(catalogue, f"## {MISTAKE} [", "## not scaled [")
    assert to_grade(class_of_three) == EVERYBODY


def test_another_limit_grades_everybody_again(class_of_three, edit):
    config = class_of_three.root / "nbgrader_config.py"
    limit = "c.Grader.grade_cell_seconds = "
    edit(config, f"{limit}{CELL_SECONDS}", f"{limit}9")
    assert to_grade(class_of_three) == EVERYBODY


def test_follow_through_that_is_switched_off_grades_everybody_again(class_of_three, edit):
    config = class_of_three.root / "nbgrader_config.py"
    edit(config, "# c.Grader.follow_through", "c.Grader.follow_through")
    assert to_grade(class_of_three) == EVERYBODY


def test_a_sandbox_that_is_on_or_off_grades_everybody_again(class_of_three, monkeypatch):
    module = "autograder.grade.grade_class.sandbox.why_not"
    monkeypatch.setattr(module, lambda: "")
    on = to_grade(class_of_three)
    monkeypatch.setattr(module, lambda: "there is none")
    assert sorted([on, to_grade(class_of_three)]) == [[], EVERYBODY]


@pytest.mark.parametrize("package", ["python", "numpy", "torch"])
def test_another_version_grades_everybody_again(class_of_three, monkeypatch, package):
    versions = examine.kernel_versions(sys.executable, ("numpy", "torch"))
    monkeypatch.setattr(
        examine, "kernel_versions", lambda python, packages: versions | {package: "0.1"}
    )
    assert to_grade(class_of_three) == EVERYBODY


@pytest.fixture
def stored(class_of_three):
    """The file of a stored result; the test's end restores it."""
    path = result_path(autograded_notebook(class_of_three, "right", EXERCISE.name))
    before = path.read_bytes()
    yield path
    path.write_bytes(before)


@pytest.mark.parametrize("version", [GRADER_VERSION - 1, GRADER_VERSION + 1])
def test_what_another_version_of_the_grader_graded_is_graded_again(class_of_three, stored, version):
    found = stored_result(class_of_three, "right", EXERCISE.name)
    basis = dataclasses.replace(found.basis, grader=version)
    dataclasses.replace(found, basis=basis).write(stored)
    assert to_grade(class_of_three) == ["right"]


@pytest.mark.parametrize("lost", ["result", "notebook"])
def test_what_is_lost_is_graded_again(class_of_three, stored, lost):
    notebook = autograded_notebook(class_of_three, "right", EXERCISE.name)
    path = stored if lost == "result" else notebook
    away = path.with_name("away")
    path.rename(away)
    try:
        assert to_grade(class_of_three) == ["right"]
    finally:
        away.rename(path)


def test_nothing_has_changed(class_of_three):
    assert to_grade(class_of_three) == []


# What feedback follows --------------------------------------------------------------------------


def written(course):
    """Write the feedback that is out of date, by a grader that has read everything anew."""
    course = Course(course.root)
    exercise = course.exercise(EXERCISE.name)
    assert to_grade(course) == []
    before = graded_at(course)
    count = write_feedback(course, recorded_results(course, [exercise]))
    assert graded_at(course) == before
    return count


def graded_at(course):
    paths = [autograded_notebook(course, student, EXERCISE.name) for student in EVERYBODY]
    return [p.stat().st_mtime_ns for path in paths for p in (path, result_path(path))]


def page(course, student):
    return feedback_page(course, student, EXERCISE.name).read_text(encoding="utf-8")


def test_feedback_that_is_up_to_date_is_not_written_again(class_of_three):
    written(class_of_three)
    assert written(class_of_three) == 0


def test_feedback_follows_a_reworded_hint(class_of_three, edit):
    written(class_of_three)
    (mistake,) = [m for m in mistakes(EXERCISE) if m.name == MISTAKE]
    catalogue = class_of_three.exercise(EXERCISE.name).catalogue
    edit(catalogue, f"*Hint:* {mistake.hint}", f"*Hint:* Think again: {mistake.hint}")
    assert written(class_of_three) == 1
    assert "Hint: Think again: " in page(class_of_three, "wrong")


def test_feedback_follows_the_address_of_the_book(class_of_three, monkeypatch):
    monkeypatch.setenv("BOOK_URL", "https://book.example/course")
    assert written(class_of_three) == 1
    assert '<a href="https://book.example/course/book/ch2_' in page(class_of_three, "wrong")
    monkeypatch.delenv("BOOK_URL")
    assert written(class_of_three) == 1
    assert "book.example" not in page(class_of_three, "wrong")


def test_feedback_follows_points_and_comments_given_by_hand(class_of_three):
    written(class_of_three)
    written_cell = next(
        cell.metadata.nbgrader.grade_id
        for cell in released(EXERCISE).cells
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("grade")
    )
    place = (written_cell, EXERCISE.name, EXERCISE.name, "right")
    with Gradebook(class_of_three.db_url) as gradebook:
        gradebook.find_grade(*place).manual_score = 0.5
        gradebook.find_comment(*place).manual_comment = "Good, but why is the variance dk?"
        gradebook.db.commit()
        score = gradebook.find_submission(EXERCISE.name, "right").score
    assert written(class_of_three) == 1
    text = page(class_of_three, "right")
    assert "Good, but why is the variance dk?" in text
    assert f"{as_shown(score)}" in text and score % 1 == 0.5
