"""A grade that falls by handing in again is told, and with a setting the better one stays, after lateness."""

import datetime
from dataclasses import replace

import pytest
from nbgrader.api import Gradebook

from autograder.exercises import grade_cells, solved
from autograder.grade import resubmissions, words
from autograder.grade.class_grades import grades_of
from autograder.grade.examine import Graded
from autograder.grade.gradebook import Recorder, autograded_notebook, stored_result
from autograder.grade.lateness import update_penalties
from autograder.grade.result import (
    GRADER_VERSION,
    Basis,
    CellResult,
    Limits,
    LineResult,
    Result,
)
from autograder.lms.export import write
from autograder.runtime.compare import Difference
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME = EXERCISE.name


@pytest.fixture
def course(registered):
    return registered


@pytest.fixture
def keeping(course):
    """The same class with the better of two grades."""
    course.config.Grader.keep_best = True
    assert course.settings.keep_best
    return course


def recorded(course, digest, passed, at="2027-03-01 10:00:00 UTC", points=1.0, **rules):
    """Record a submission of which so many checks passed, each worth so many points, by some rules."""
    folder = course.submitted / "s1" / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "timestamp.txt").write_text(at)
    notebook = solved(EXERCISE, {}, written="")
    cells = tuple(
        CellResult(
            name,
            (LineResult("f(x)", points, None if number < passed else Difference("no_code"), None),),
        )
        for number, name in enumerate(grade_cells(notebook))
    )
    basis = replace(Basis(digest, "key", Limits(), {}), **rules)
    with Recorder(course) as recorder:
        recorder.record(Graded(Result("s1", NAME, cells, (), basis, 1.0), notebook))
    return recorder


def hand_in(course, digest, passed, **how):
    """The same; returns the results of which it is told that they fell."""
    return recorded(course, digest, passed, **how).fallen


def grade(course):
    update_penalties(course, [EXERCISE])
    (own,) = grades_of(course, [EXERCISE])
    return own.score


def told(course):
    return [words.remark(remark) for remark in stored_result(course, "s1", NAME).remarks]


def test_a_grade_that_falls_is_told_until_the_next_submission(course):
    assert hand_in(course, "one", 4) == []
    (fallen,) = hand_in(course, "two", 2)
    assert resubmissions.notes([fallen]) == [
        f"{NAME}: s1 handed in again and got fewer points than before: 4, then 2."
    ]
    assert "gave 4 points to what you had handed in before" in told(course)[0]
    assert grade(course) == 2
    # graded again
    assert hand_in(course, "two", 2) == [] and len(told(course)) == 1
    assert hand_in(course, "three", 3) == [] and told(course) == []


def test_other_checks_are_no_fall(course):
    hand_in(course, "one", 4, points=2.0)
    assert hand_in(course, "two", 4) == [] and told(course) == []


def test_the_better_grade_stays_and_is_current(keeping, tmp_path):
    hand_in(keeping, "one", 4)
    page = autograded_notebook(keeping, "s1", NAME)
    before = page.read_bytes()
    (kept,) = hand_in(keeping, "two", 2)
    assert grade(keeping) == 4 and page.read_bytes() == before
    assert kept.basis.submission == "two" == stored_result(keeping, "s1", NAME).basis.submission
    assert "gave 2 points to that" in told(keeping)[0]
    notes = write(keeping, [EXERCISE], "csv", tmp_path / "grades.csv")
    assert (
        f"{NAME}: s1 handed in again for fewer points, and the earlier grade counts: 4, then 2."
        in notes
    )
    # also when the worse one is graded once more
    hand_in(keeping, "two", 2)
    assert grade(keeping) == 4 and len(told(keeping)) == 1
    hand_in(keeping, "three", 5)
    assert grade(keeping) == 5 and told(keeping) == []


def test_the_better_grade_is_the_better_after_lateness(keeping):
    with Gradebook(keeping.db_url) as book:
        book.find_assignment(NAME).duedate = datetime.datetime(2027, 3, 2)
        book.db.commit()
    keeping.config.LateSubmissionPlugin.penalty_method = "zero"
    hand_in(keeping, "one", 3)
    hand_in(keeping, "two", 5, at="2027-03-05 10:00:00 UTC")
    # five points that are late are worth nothing, and the time of the earlier one counts
    assert grade(keeping) == 3
    assert stored_result(keeping, "s1", NAME).score == 3


def test_points_by_hand_count_for_both(keeping):
    hand_in(keeping, "one", 3)
    with Gradebook(keeping.db_url) as book:
        check = book.find_grade(next(iter(grade_cells(solved(EXERCISE, {})))), NAME, NAME, "s1")
        check.manual_score, check.needs_manual_grade = 9, False
        book.db.commit()
    hand_in(keeping, "two", 4)
    assert grade(keeping) == 9 + 3


OLDER = {"grader": 1, "versions": {"numpy": "1.26.0"}}


def test_it_is_told_what_other_rules_change(course):
    hand_in(course, "one", 4, **OLDER)
    again = recorded(course, "one", 2)
    assert again.fallen == [] and told(course) == [] and grade(course) == 2
    (change,) = again.regraded
    assert change.net == -2 and len(change.cells) == 2
    assert all("1 -> 0\n  fails now: f(x)" in cell for cell in change.cells)
    reasons = [f"the grader: version 1 -> {GRADER_VERSION}", "numpy 1.26.0 -> -"]
    assert change.reasons == reasons
    # by the same rules, and another submission
    assert recorded(course, "one", 2).regraded == []
    assert recorded(course, "two", 3, **OLDER).regraded == []


def test_other_rules_take_no_points_where_the_better_grade_stays(keeping, tmp_path):
    hand_in(keeping, "one", 4, **OLDER)
    (kept,) = hand_in(keeping, "one", 2)
    assert grade(keeping) == 4 and kept.basis.grader == GRADER_VERSION
    assert "graded again by newer rules, which gave it 2 points" in told(keeping)[0]
    said = f"{NAME}: s1 was graded again for fewer points, and the earlier grade counts: 4, then 2."
    assert said in write(keeping, [EXERCISE], "csv", tmp_path / "grades.csv")
    # once more by the same rules, and by others
    hand_in(keeping, "one", 2)
    assert grade(keeping) == 4 and len(told(keeping)) == 1
    again = recorded(keeping, "one", 1, answer_key="other")
    assert grade(keeping) == 4 and "gave it 1 points" in told(keeping)[0]
    # what stays has not moved
    assert [change.net for change in again.regraded] == [0] and not again.regraded[0].cells
    hand_in(keeping, "one", 5, answer_key="a third")
    assert grade(keeping) == 5 and told(keeping) == []


def test_other_checks_are_not_compared(keeping):
    hand_in(keeping, "one", 4, points=2.0, **OLDER)
    assert hand_in(keeping, "one", 4) == [] and grade(keeping) == 4
