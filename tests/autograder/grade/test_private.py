"""What tells of students is for its owner alone, whatever the umask."""

import os
import stat

import pytest

from autograder.course import Course
from autograder.exercises import grade_cells, solved
from autograder.grade.examine import Graded
from autograder.grade.feedback import write_feedback
from autograder.grade.gradebook import Recorder, register
from autograder.grade.reconcile import reconcile
from autograder.grade.result import Basis, CellResult, Limits, LineResult, Result
from autograder.lms import export
from autograder.report import pages
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME = EXERCISE.name


@pytest.fixture
def open_umask():
    before = os.umask(0o000)
    yield
    os.umask(before)


def recorded(course):
    notebook = solved(EXERCISE, {}, written="Because.")
    cells = tuple(CellResult(n, (LineResult("f(x)", 4),)) for n in grade_cells(notebook))
    result = Result("s1", NAME, cells, (), Basis("", "", Limits(), {}), 1.0)
    with Recorder(course) as recorder:
        recorder.record(Graded(result, notebook))
    return result


def open_files(course):
    """Files below the class's folder that another account could open, by their own and their folders' modes."""

    def is_open(path):
        between = [path, *path.parents][: len(path.relative_to(course.home).parts)]
        return all(stat.S_IMODE(one.stat().st_mode) & 0o077 for one in between)

    files = [path for path in course.home.rglob("*") if path.is_file()]
    assert len(files) > 8
    return {path.relative_to(course.home).parts[0] for path in files if is_open(path)}


def test_gradebook_results_feedback_reports_and_exports(tmp_path, open_umask):
    course = Course(COURSE.root, class_folder=tmp_path / "class")
    course.home.mkdir()
    register(course, EXERCISE)
    result = recorded(course)
    reconcile(course, [EXERCISE], [result])
    write_feedback(course, [result])
    pages.write(course, [result])
    export.write(course, [EXERCISE], "csv", course.home / "grades.csv")
    # what may be shown in the lecture names nobody
    assert open_files(course) <= {"lecture"}


def test_what_an_earlier_version_has_written_is_closed(tmp_path):
    course = Course(COURSE.root, class_folder=tmp_path / "class")
    for folder in (course.autograded, course.feedback, course.home / "reports"):
        (folder / "s0").mkdir(parents=True)
        (folder / "s0" / "old.html").touch(0o644)
        folder.chmod(0o755)
    register(course, EXERCISE)
    (course.home / "gradebook.db").chmod(0o644)
    recorded(course)
    files = [
        course.home / "gradebook.db",
        course.autograded,
        course.feedback,
        course.home / "reports",
    ]
    assert [path.stat().st_mode & 0o077 for path in files] == [0] * 4
