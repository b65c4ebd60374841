"""Submissions in folders of other names than an exercise's or a student's: told, since nobody would find them."""

import os

import pytest

from autograder.course import Course
from autograder.grade.misplaced import misplaced, strangers
from autograder.grade.roster import import_roster
from autograder.grade.submission import students
from tests.support.course import COURSE

EXERCISE = "ch2_scaled_dot_product"
NAME = f"{EXERCISE}.ipynb"


@pytest.fixture
def course(tmp_path):
    return Course(COURSE.root, class_folder=tmp_path / "class")


def put(course, *paths):
    for path in paths:
        place = course.submitted / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("{}")


@pytest.mark.parametrize(
    "path",
    [
        f"s001/ch2/{NAME}",
        f"s001/Ch2_Scaled_Dot_Product/{NAME}",
        f"s001/{NAME}",
        NAME,
        f"{EXERCISE}/s001/{NAME}",
        f"{EXERCISE}/s001.ipynb",
    ],
)
def test_a_notebook_that_no_exercise_would_find_is_told(course, path):
    put(course, path, f"s002/{EXERCISE}/{NAME}")
    (told,) = misplaced(course)
    assert told.startswith("Not graded") and path.removesuffix(f"/{NAME}") in told
    assert "STUDENT/EXERCISE/EXERCISE.ipynb" in told and "s002" not in told


def test_other_files_and_folders_are_nobodys_submission(course):
    put(course, f"s001/{EXERCISE}/{NAME}", f"s001/{EXERCISE}/old/{NAME}", "s001/notes/a.txt")
    put(course, "roster.csv", ".DS_Store", "s001/.ipynb_checkpoints/a.ipynb")
    assert misplaced(course) == []


def test_there_may_be_no_submissions(course):
    assert misplaced(course) == []


def test_a_folder_that_can_be_no_students_is_told_and_the_others_are_graded(course):
    put(
        course,
        *(f"{student}/{EXERCISE}/{NAME}" for student in ("s001", ".s2", os.fsdecode(b"s\xff"))),
    )
    (told,) = misplaced(course)
    assert "no student can be called so: .s2, s\\xff in" in told
    assert students(course, COURSE.exercise(EXERCISE)) == ["s001"]


def rostered(course, *lines):
    path = course.home.parent / "roster.csv"
    path.write_text("\n".join(["id,first_name", *lines, ""]), encoding="utf-8")
    return import_roster(course, path)


@pytest.mark.parametrize(
    ("folder", "student"),
    [("S001", "s001"), ("s001 ", "s001"), ("1234", "01234"), ("Zoe\u0308", "Zo\u00eb")],
)
def test_two_spellings_of_an_id_are_told(course, folder, student):
    rostered(course, f"{student},First", "s002,Second")
    (told,) = strangers(course, {folder, "s002"})
    assert folder in told and student in told and "written almost alike" in told
    # also when grading has added the second
    rostered(course, f"{folder}x,First")


def test_who_is_not_in_the_roster_is_told(course):
    rostered(course, "s001,First", "s002,")
    (told,) = strangers(course, {"s001", "s0O2"})
    assert told.startswith("Not in the roster") and "s0O2" in told and "s001" not in told


def test_a_class_without_a_roster_has_no_strangers(course):
    assert strangers(course, {"s001", "s002"}) == []
    rostered(course, "s001,", "s002,")
    assert strangers(course, {"s001", "s003"}) == []


def test_who_has_left_the_class_is_told(course):
    rostered(course, "s001,First", "s002,Second")
    (told,) = rostered(course, "s002,Second", "s003,Third").notes
    assert "not in this table: s001." in told and "nbgrader db student remove" in told
