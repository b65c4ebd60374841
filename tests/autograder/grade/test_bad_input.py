"""Whatever is submitted, the run goes on, and a score with a reason is recorded."""

import contextlib
import html
import re
import resource
import shutil
import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.audit.leftovers import left_running
from autograder.errors import GradebookError, OutputError
from autograder.grade.exercise_words import words_of
from autograder.grade.feedback import feedback_page, write_feedback
from autograder.grade.grade_class import Grader, grade_class
from autograder.grade.gradebook import Recorder, autograded_notebook, stored_result
from autograder.grade.submission import read_submission
from autograder.grade.verdicts import result_path
from autograder.report import pages
from tests.support.grading import grade_here
from tests.support.submissions import (
    EXERCISE,
    FULL,
    NAME,
    NONE,
    SOME,
    SUBMISSIONS,
    folder_of,
    hand_in,
)

pytestmark = pytest.mark.xdist_group("submissions")


# The class --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_a_score_and_a_reason_are_recorded(graded_class, name):
    course, results = graded_class
    case, result = SUBMISSIONS[name], results[name]
    assert {0: NONE, result.points: FULL}.get(result.score, SOME) == case.score
    page = feedback_page(course, name, EXERCISE.name)
    # the page shows as code what the sentences have between backticks
    text = html.unescape(re.sub("</?code>", "`", page.read_text(encoding="utf-8")))
    assert [word for word in case.words if word not in text] == []
    told = words_of(EXERCISE)
    assert all(told.line(line) for _, line in result.lines() if not line.passed)
    with Gradebook(course.db_url) as gradebook:
        assert gradebook.find_submission(EXERCISE.name, name).score == result.score


def test_the_summary_gives_a_reason_for_every_lost_point(graded_class):
    course, results = graded_class
    pages.write(course, list(results.values()))
    page = course.home / "reports" / f"{EXERCISE}.html"
    rows = page.read_text(encoding="utf-8").split("<tr>")
    for name, case in SUBMISSIONS.items():
        (row,) = [row for row in rows if f">{name}</a>" in row]
        reason = html.unescape(row.rsplit("<td>", 1)[1].split("</td>")[0])
        if case.score != FULL:
            assert reason
        if case.score == NONE:
            assert any(word in reason for word in case.words), (name, reason)
    assert results["honest"].score == results["honest"].points


def test_nothing_is_left_running(graded_class):
    assert left_running() == set()


# What changes meanwhile -------------------------------------------------------------------------


def test_a_folder_that_changes_while_it_is_read_ends_no_run(new_class):
    course = hand_in(new_class(), "honest")
    folder, read = folder_of(course, "honest"), threading.Event()
    text = (folder / NAME).read_text(encoding="utf-8")
    away = folder.with_name("away")

    def change():
        while not read.wait(0.002):
            (folder / NAME).write_text(text[: len(text) // 2], encoding="utf-8")
            (folder / "data.csv").write_text("1, 2")
            folder.rename(away)
            away.rename(folder)
            (folder / "data.csv").unlink()
            (folder / NAME).write_text(text, encoding="utf-8")

    thread = threading.Thread(target=change)
    thread.start()
    whole = parts = 0
    deadline = time.monotonic() + 60
    try:
        while (whole < 20 or parts < 20) and time.monotonic() < deadline:
            found = read_submission(course, "honest", EXERCISE)
            assert found.cells or found.remarks
            whole, parts = whole + bool(found.cells), parts + (not found.cells)
    finally:
        read.set()
        thread.join()
    assert whole >= 20 and parts >= 20


class Recording(Recorder):
    """A recorder that does something before it records."""

    before = staticmethod(lambda graded: None)

    def record(self, graded, create_student=True):
        self.before(graded)
        super().record(graded, create_student)


@pytest.fixture
def before_recording(monkeypatch):
    """A function that lets graders call a function before each recording."""

    def before_recording(do):
        kind = type("RecordingOnce", (Recording,), {"before": staticmethod(do)})
        monkeypatch.setattr("autograder.grade.grade_class.Recorder", kind)

    return before_recording


def test_what_changes_after_it_was_read_is_graded_next_time(new_class, before_recording):
    course = hand_in(new_class(), "honest")
    path = folder_of(course, "honest") / NAME
    before_recording(lambda graded: path.write_text("{}", encoding="utf-8"))
    (first,) = grade_here(course, EXERCISE.name)
    assert first.score == first.points
    before_recording(lambda graded: None)
    (second,) = grade_here(course, EXERCISE.name)
    assert second.score == 0


# A gradebook that can't be written --------------------------------------------------------------


@pytest.fixture(scope="module")
def half_graded(new_class):
    """A course with one student graded, and what another, not yet recorded, has got."""
    course = hand_in(new_class(), "honest")
    (first,) = grade_here(course, EXERCISE.name)
    shutil.copytree(folder_of(course, "honest"), folder_of(course, "late"))
    return course, first, Grader(course).grade("late", course.exercise(EXERCISE.name))


def test_one_page_that_cannot_be_written_costs_nobody_else_theirs(half_graded):
    course, result, _ = half_graded
    damaged = autograded_notebook(course, "damaged", EXERCISE.name)
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    try:
        with pytest.raises(OutputError, match=rf"damaged, {EXERCISE}.*could not be written"):
            write_feedback(course, [replace(result, student="damaged"), result])
    finally:
        shutil.rmtree(damaged.parents[1])
    assert feedback_page(course, "honest", EXERCISE.name).is_file()
    assert not feedback_page(course, "damaged", EXERCISE.name).exists()


def in_gradebook(course):
    with Gradebook(course.db_url) as gradebook:
        return {s.student.id: s.score for s in gradebook.assignment_submissions(EXERCISE.name)}


@contextlib.contextmanager
def locked(course):
    with contextlib.closing(sqlite3.connect(course.home / "gradebook.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@contextlib.contextmanager
def full(course):
    """No file of this process may grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def no_room_for_the_notebook(course):
    place = course.home / "autograded" / "late"
    place.write_text("in the way")
    yield
    place.unlink()


@pytest.mark.parametrize(
    ("trouble", "kind", "words"),
    [
        (locked, GradebookError, "gradebook.*can't be used: database is locked.*kept"),
        (full, GradebookError, "gradebook.*can't be used: .*kept"),
        (no_room_for_the_notebook, OutputError, "late.*can't be written: Not a directory"),
    ],
)
def test_a_grade_that_cannot_be_written_is_told_and_written_later(
    half_graded, trouble, kind, words
):
    course, before, graded = half_graded
    with Recorder(course) as recorder:
        with trouble(course), pytest.raises(kind, match=words):
            recorder.record(graded)
        assert not autograded_notebook(course, "late", EXERCISE.name).exists()
        assert stored_result(course, "late", EXERCISE.name) is None
        recorder.record(graded)
    assert in_gradebook(course) == {"honest": before.points, "late": before.points}
    assert stored_result(course, "honest", EXERCISE.name) == before
    shutil.rmtree(course.autograded / "late")
    with Gradebook(course.db_url) as gradebook:
        gradebook.remove_submission(EXERCISE.name, "late")


# An interrupted run -----------------------------------------------------------------------------


def test_an_interrupted_run_loses_and_repeats_nothing(new_class, before_recording):
    names = ("answer_deleted", "empty_folder", "honest", "not_json", "wrong_name")
    course = hand_in(new_class(), *names)
    exercises = [course.exercise(EXERCISE.name)]

    def recorded():
        paths = {name: autograded_notebook(course, name, EXERCISE.name) for name in names}
        return {
            name: (path.stat().st_mtime_ns, result_path(path).stat().st_mtime_ns)
            for name, path in paths.items()
            if path.exists()
        }

    def interrupt(graded):
        # while kernels of those who come next run
        if len(recorded()) == 2:
            raise KeyboardInterrupt

    before_recording(interrupt)
    with pytest.raises(KeyboardInterrupt):
        grade_class(course, exercises)
    assert left_running() == set()
    before = recorded()
    assert len(before) == 2
    recorded_again = []
    before_recording(lambda graded: recorded_again.append(graded.result.student))
    results = grade_class(course, exercises)
    assert [result.student for result in results] == list(names)
    assert set(recorded_again) == set(names) - set(before)
    after = recorded()
    assert set(after) == set(names)
    assert {name: after[name] for name in before} == before
    assert grade_class(course, exercises) == results
    assert recorded() == after
    assert Path(course.home / "gradebook.db").exists()


# Sentences --------------------------------------------------------------------------------------
