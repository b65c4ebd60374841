"""The gradebook and the stored results tell the same grades, whatever was put back or removed."""

import json
import shutil

import pytest
from nbgrader.api import Gradebook

from autograder.errors import GradebookError
from autograder.exercises import grade_cells, solved
from autograder.grade.class_grades import grades_of
from autograder.grade.examine import Graded
from autograder.grade.gradebook import Recorder, autograded_notebook
from autograder.grade.reconcile import STATE_FILE, reconcile
from autograder.grade.result import Basis, CellResult, Limits, LineResult, Result
from autograder.grade.verdicts import result_path
from autograder.runtime.compare import Difference
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME, QUESTION = EXERCISE.name, "previous_state"
POINTS = 4


@pytest.fixture
def course(registered):
    """A class of two: s1 has full marks, s2 none."""
    grade(registered, "s1", earned=True)
    grade(registered, "s2", earned=False)
    return registered


def grade(course, student, earned):
    """Record a submission all of whose checks pass, or none."""
    notebook = solved(EXERCISE, {}, written="Because.")
    line = LineResult("f(x)", POINTS, None if earned else Difference("no_code"), None)
    cells = tuple(CellResult(name, (line,)) for name in grade_cells(notebook))
    basis = Basis(f"{student} {earned}", "", Limits(), {})
    with Recorder(course) as recorder:
        recorder.record(Graded(Result(student, NAME, cells, (), basis, 1.0), notebook))


def stored(course):
    paths = [result_path(autograded_notebook(course, student, NAME)) for student in ("s1", "s2")]
    return [Result.read(path) for path in paths]


def agree(course):
    return reconcile(course, [EXERCISE], stored(course))


def told(course):
    """The scores that an export tells."""
    return {grade.student.id: grade.score for grade in grades_of(course, [EXERCISE])}


def by_hand(course, student, points, comment="Good."):
    """Give points and a comment as formgrader does."""
    with Gradebook(course.db_url) as book:
        own = book.find_grade(QUESTION, NAME, NAME, student)
        own.manual_score, own.needs_manual_grade = points, False
        book.find_comment(QUESTION, NAME, NAME, student).manual_comment = comment
        book.db.commit()


def entered(course, student):
    with Gradebook(course.db_url) as book:
        own = book.find_grade(QUESTION, NAME, NAME, student)
        comment = book.find_comment(QUESTION, NAME, NAME, student)
        return own.manual_score, own.needs_manual_grade, comment.manual_comment


def remove(course, student):
    """What `nbgrader db student remove --force` does."""
    with Gradebook(course.db_url) as book:
        book.remove_student(student)


def test_what_agrees_is_not_recorded_again(course):
    full = told(course)["s1"]
    assert full == len(stored(course)[0].cells) * POINTS > 0
    assert agree(course) == agree(course) == []
    assert told(course) == {"s1": full, "s2": 0}


def test_a_student_who_was_removed_and_added_has_the_stored_grade_again(course):
    before = told(course)
    remove(course, "s1")
    with Gradebook(course.db_url) as book:
        book.add_student("s1")
    assert told(course) == {"s1": 0, "s2": 0}
    (note,) = agree(course)
    assert "s1" in note and "s2" not in note
    assert told(course) == before
    assert agree(course) == []


def test_an_older_gradebook_that_was_put_back_tells_the_newer_grade(course, tmp_path):
    agree(course)
    shutil.copy(course.home / "gradebook.db", tmp_path / "old.db")
    grade(course, "s2", earned=True)
    agree(course)
    newer = told(course)
    shutil.copy(tmp_path / "old.db", course.home / "gradebook.db")
    assert told(course) != newer
    agree(course)
    assert told(course) == newer


def test_what_a_person_entered_is_never_touched(course):
    by_hand(course, "s1", 2)
    agree(course)
    with Gradebook(course.db_url) as book:
        for grade_cell in book.find_submission_notebook(NAME, NAME, "s1").grades:
            grade_cell.auto_score = None
        book.db.commit()
    (note,) = agree(course)
    assert "s1" in note
    points, _, comment = entered(course, "s1")
    assert (points, comment) == (2, "Good.")


def test_what_a_person_takes_back_is_no_loss(course):
    by_hand(course, "s1", 2)
    agree(course)
    by_hand(course, "s1", None, None)
    assert agree(course) == []
    by_hand(course, "s1", 3)
    assert agree(course) == []


@pytest.mark.parametrize("how", ["removed", "removed and graded again"])
def test_entries_that_went_with_a_student_are_a_loss(course, how):
    by_hand(course, "s1", 2)
    agree(course)
    remove(course, "s1")
    if how == "removed and graded again":
        grade(course, "s1", earned=False)
    with pytest.raises(
        GradebookError, match="has lost what a person had entered for s1 "
    ) as refused:
        agree(course)
    assert str(refused.value).count(". ") == 0
    # the way out: it is entered again
    if how == "removed":
        grade(course, "s1", earned=True)
    by_hand(course, "s1", 2)
    assert agree(course) == []


@pytest.mark.parametrize("before", [None, 1])
def test_entries_that_an_older_gradebook_lacks_are_a_loss(course, tmp_path, before):
    if before:
        by_hand(course, "s1", before)
    agree(course)
    shutil.copy(course.home / "gradebook.db", tmp_path / "old.db")
    by_hand(course, "s1", 2, "Very good.")
    agree(course)
    shutil.copy(tmp_path / "old.db", course.home / "gradebook.db")
    with pytest.raises(GradebookError, match="has lost"):
        agree(course)
    kept = json.loads((course.home / STATE_FILE).read_text())
    assert kept[NAME]["by_hand"]["s1"]["cells"][QUESTION] == [2, None, "Very good."]
    # the other way out: the older one is to count
    (course.home / STATE_FILE).unlink()
    assert agree(course) == []
    assert entered(course, "s1")[0] == before


def test_a_gradebook_without_the_exercise_is_said_to_lack_it(course):
    (course.home / "gradebook.db").unlink()
    with pytest.raises(GradebookError, match="isn't in the gradebook"):
        agree(course)


def test_a_damaged_memory_is_told_in_one_sentence(course):
    agree(course)
    (course.home / STATE_FILE).write_text("{")
    with pytest.raises(GradebookError, match="delete it to go on"):
        agree(course)
