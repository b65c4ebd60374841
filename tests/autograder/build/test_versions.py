"""A corrected check is the instructor's change; an edited one is the student's."""

import json
import os

import nbformat
import pytest

from autograder.build.released_versions import released_versions, remember_released
from autograder.course import Course, Exercise
from autograder.exercises import cell_digest, copied, metadata_of, released, solved
from autograder.grade.result import Remark
from autograder.grade.sanitize import sanitized
from autograder.grade.submission import read_submission
from tests.support.course import COURSE

EXERCISE, CHECK = COURSE.exercise("ch2_scaled_dot_product"), "softmax_values"


def check(notebook):
    return next(cell for cell in notebook.cells if metadata_of(cell).get("grade_id") == CHECK)


@pytest.fixture
def elsewhere(tmp_path):
    """The exercise in another course, which remembers the versions released there."""
    return Exercise(tmp_path, EXERCISE.name)


@pytest.fixture
def corrected(elsewhere):
    """The exercise with one check corrected, after the release of the version handed out."""
    before = released(EXERCISE)
    remember_released(elsewhere, before)
    after = copied(before)
    check(after).source += "\ncheck('1 + 1', points=1, answer='')"
    remember_released(elsewhere, after)
    return after


@pytest.fixture
def remarks(elsewhere, course_folder):
    """A function that gives the remarks on a submission, sanitised with a release."""

    def remarks(release, change=lambda cell: None):
        notebook = solved(EXERCISE, {})
        change(check(notebook))
        course = Course(course_folder)
        folder = course.submitted / "s1" / EXERCISE.name
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{EXERCISE.name}.ipynb")
        submission = read_submission(course, "s1", elsewhere)
        assert submission.remarks == ()
        return sanitized(submission, release, released_versions(elsewhere))[1]

    return remarks


def test_nobody_is_told_to_have_changed_a_check_that_was_corrected(corrected, remarks):
    assert remarks(corrected) == []


def test_who_edits_a_check_is_told(corrected, remarks):
    def edit(cell):
        cell.source = cell.source.replace("check(", "print(", 1)

    assert remarks(corrected, edit) == [Remark("check_changed", {"cell": CHECK})]


def test_every_version_is_remembered_once(corrected, elsewhere):
    before = released_versions(elsewhere)
    others = [digests for name, digests in before.items() if name != CHECK]
    assert others and {len(digests) for digests in others} == {1}
    assert len(before[CHECK]) == 2
    remember_released(elsewhere, released(EXERCISE))
    assert released_versions(elsewhere) == before


def test_the_record_is_written_only_when_there_is_a_new_version(corrected, elsewhere):
    (record,) = (elsewhere.root / "solutions" / "released").iterdir()
    assert json.loads(record.read_text()) == released_versions(elsewhere)
    os.utime(record, ns=(1, 1))
    remember_released(elsewhere, corrected)
    assert record.stat().st_mtime_ns == 1


def test_spaces_and_line_breaks_make_no_other_version():
    assert cell_digest("a = 1\n\n\nb") == cell_digest("a=1\r\nb")
    assert cell_digest("a = 1") != cell_digest("a = 2")


def test_what_is_released_is_remembered_in_the_repository(exercise):
    known = released_versions(exercise)
    cells = [c for c in released(exercise).cells if c.cell_type == "code"]
    locked = [c for c in cells if not metadata_of(c).solution]
    assert len(locked) > 3
    for cell in locked:
        assert cell_digest(cell.source) in known[metadata_of(cell).grade_id]
