"""nbgrader's commands and formgrader grade as `python -m autograder grade` does."""

import dataclasses
import logging
import re
import shutil
import subprocess

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.auth import Authenticator
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

from autograder.course import Course
from autograder.grade import grade_class as module
from autograder.grade.feedback import feedback_page, write_feedback
from autograder.grade.grade_class import Grader, grade_class, recorded_results
from autograder.grade.gradebook import Recorder, autograded_notebook
from autograder.grade.lock import only_grader
from autograder.grade.verdicts import result_path
from autograder.kernels.student_kernel import KernelStartError
from tests.support.copies import repository, run, with_short_limits
from tests.support.submissions import EXERCISE, SUBMISSIONS, hand_in

pytestmark = pytest.mark.xdist_group("submissions")


def gradebook_of(course):
    """What the gradebook holds: by student score, time handed in, and every cell's points and comment."""
    with Gradebook(course.db_url) as gradebook:
        return {
            submission.student.id: (
                submission.score,
                submission.timestamp,
                {
                    grade.name: (grade.auto_score, grade.needs_manual_grade)
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                },
                {
                    comment.name: comment.auto_comment
                    for notebook in submission.notebooks
                    for comment in notebook.comments
                },
            )
            for submission in gradebook.assignment_submissions(EXERCISE.name)
        }


def pages_of(course, names):
    """The feedback pages, without the folder of the kernel and the stamp, which hold random names."""
    pages = {
        name: feedback_page(course, name, EXERCISE.name).read_text(encoding="utf-8")
        for name in names
    }
    random = r"/tmp/\S*grade-\w+/|<!-- feedback \w+ \w+ -->"
    return {name: re.sub(random, "", page).strip() for name, page in pages.items()}


def without_seconds(result):
    return dataclasses.replace(result, seconds=0)


def another_class(first, folder):
    """A class without submissions, with the answer key and the seeds of another one."""
    course = Course(with_short_limits(repository(folder, few_mistakes=True)))
    shutil.copytree(first.home / "expected", course.home / "expected")
    shutil.copy(first.home / "seeds.json", course.home)
    return course


@pytest.fixture(scope="module")
def by_nbgrader(request, graded_class, tmp_path_factory):
    """Submissions of the graded class, graded by nbgrader's own command, too; both outcomes."""
    graded, results = graded_class
    items = [item for item in request.session.items if item.originalname == BOTH]
    names = [item.callspec.params["name"] for item in items] or SOME_OF_THEM
    first = results, gradebook_of(graded), pages_of(graded, names)
    course = another_class(graded, tmp_path_factory.mktemp("doors"))
    # Copied as they are, links and pipes too; made again, added cells would have other ids.
    course.submitted.mkdir()
    folders = [graded.submitted / name for name in names]
    subprocess.run(["cp", "-a", *folders, course.submitted], check=True)
    converter_of(course, force=True).start()
    exercises = [course.exercise(EXERCISE.name)]
    second = {result.student: result for result in recorded_results(course, exercises)}
    write_feedback(course, list(second.values()))
    return course, first, (second, gradebook_of(course), pages_of(course, second))


@pytest.fixture
def recorded(monkeypatch):
    """The students whose results are recorded in this process, in order."""
    students = []

    class Counting(Recorder):
        def record(self, graded, create_student=True):
            students.append(graded.result.student)
            super().record(graded, create_student)

    monkeypatch.setattr(module, "Recorder", Counting)
    return students


# both lead to one function
BOTH = "test_both_doors_give_the_same_grade_and_feedback"


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_both_doors_give_the_same_grade_and_feedback(by_nbgrader, name):
    _, (ours, our_gradebook, our_pages), (theirs, their_gradebook, their_pages) = by_nbgrader
    assert without_seconds(theirs[name]) == without_seconds(ours[name])
    assert their_gradebook[name] == our_gradebook[name]
    assert their_pages[name] == our_pages[name]


# formgrader -------------------------------------------------------------------------------------

SOME_OF_THEM = (
    *("companion_of_a_renamed_notebook", "not_json", "checks_edited", "late"),
    "helper_between_moved_answers",
)


@pytest.fixture(scope="module")
def small_class(short_course, tmp_path_factory):
    """A few submissions in a copy of their own, graded by our command."""
    course = another_class(short_course, tmp_path_factory.mktemp("small"))
    hand_in(course, *SOME_OF_THEM)
    results = grade_class(course, [course.exercise(EXERCISE.name)])
    return course, {result.student: result for result in results}


def converter_of(course, student="*", **options):
    """nbgrader's converter, as `nbgrader autograde` makes it."""
    folder = CourseDirectory(config=course.config)
    folder.assignment_id, folder.student_id = EXERCISE.name, student
    return Autograde(coursedir=folder, config=course.config, **options)


def test_formgraders_autograde_gives_the_same(small_class, recorded):
    course, ours = small_class
    before = gradebook_of(course)
    folder = CourseDirectory(config=course.config)
    api = NbGraderAPI(folder, Authenticator(config=course.config), config=course.config)
    for student in SOME_OF_THEM:
        done = api.autograde(EXERCISE.name, student)
        assert done["success"], done
        assert f"Graded {student}, {EXERCISE}: {ours[student].score:g} of " in done["log"]
    exercises = [course.exercise(EXERCISE.name)]
    theirs = {result.student: result for result in recorded_results(course, exercises)}
    assert recorded == list(SOME_OF_THEM)
    for student in SOME_OF_THEM:
        assert without_seconds(theirs[student]) == without_seconds(ours[student])
    assert gradebook_of(course) == before
    recorded.clear()
    grade_class(course, exercises)
    assert not set(recorded) & set(SOME_OF_THEM)


def test_without_force_only_what_is_not_current_is_graded(small_class, recorded):
    course, _ = small_class
    result_path(autograded_notebook(course, "late", EXERCISE.name)).unlink()
    converter_of(course).start()
    assert recorded == ["late"]


# Errors at nbgrader's door ----------------------------------------------------------------------


def refused(course, caplog, *, student="*", **options):
    """Let nbgrader's converter grade, which must refuse; returns its log."""
    converter = converter_of(course, student, **options)
    converter.log = logging.getLogger("door")
    with caplog.at_level(logging.INFO, "door"), pytest.raises(NbGraderException):
        converter.start()
    assert all(record.exc_info is None for record in caplog.records)
    return caplog.text


def test_nobody_of_that_name_is_told(small_class, caplog):
    course, _ = small_class
    text = refused(course, caplog, student="nobody")
    assert f"Nothing is handed in as {course.submitted}/nobody/{EXERCISE}." in text


def test_a_student_who_is_not_in_the_gradebook_is_told(small_class, caplog):
    course, _ = small_class
    hand_in(course, "honest")
    text = refused(course, caplog, student="honest", create_student=False)
    assert "The gradebook knows no student honest" in text
    assert not autograded_notebook(course, "honest", EXERCISE.name).exists()
    assert "honest" not in gradebook_of(course)


def test_a_kernel_that_does_not_start_is_told(small_class, caplog, monkeypatch):
    course, _ = small_class

    def no_kernel(*_):
        raise KernelStartError("no memory left")

    monkeypatch.setattr(Grader, "grade", no_kernel)
    text = refused(course, caplog, student="late", force=True)
    assert "A kernel for students' code can't be started: no memory left" in text


def test_the_command_says_who_grades_already_and_ends(short_course):
    hand_in(short_course, *(["honest"] if not short_course.submitted.exists() else []))
    with only_grader(short_course.home):
        done = run(short_course.root, "nbgrader", "autograde", EXERCISE.name)
    assert done.returncode == 1
    assert "Another grader works in" in done.stderr and "Traceback" not in done.stderr
