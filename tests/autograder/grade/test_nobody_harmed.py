"""No submission stops the grading of the others, or costs them points, memory or time."""

import dataclasses

import pytest
from nbformat.v4 import new_code_cell

from autograder.exercises import answer_cell, released
from autograder.grade.examine import grade_submission
from autograder.grade.grade_class import Grader, grading_settings
from autograder.grade.submission import read_folder
from autograder.kernels import sandbox
from tests.support.class_keys import give_keys
from tests.support.submissions import EXERCISE, right, save

pytestmark = pytest.mark.xdist_group("submissions")
needs_sandbox = pytest.mark.skipif(
    bool(sandbox.why_not()), reason=f"no sandbox: {sandbox.why_not()}"
)


@pytest.fixture(scope="module")
def course(tmp_path_factory, few_mistakes):
    """A class without submissions that knows what is expected."""
    course = dataclasses.replace(few_mistakes, class_folder=tmp_path_factory.mktemp("class"))
    give_keys(course, EXERCISE.name)
    return course


def graded(course, folder, **limits):
    """What a folder that was handed in gets, under some limits."""
    settings = grading_settings(course)
    settings = dataclasses.replace(settings, limits=dataclasses.replace(settings.limits, **limits))
    submission = read_folder(folder, "s1", EXERCISE.name, lambda: released(EXERCISE))
    return grade_submission(
        submission, Grader(course).key(course.exercise(EXERCISE.name)), settings
    )


def with_cells(*codes):
    """The exercise, solved, with cells of one's own before the first answer."""
    notebook = right()
    place = notebook.cells.index(answer_cell(notebook))
    notebook.cells[place:place] = map(new_code_cell, codes)
    return notebook


@needs_sandbox
def test_companions_that_do_not_fit_are_left_out_and_told(course, tmp_path):
    save(tmp_path, right())
    for number in range(3):
        (tmp_path / f"{number}.bin").write_bytes(bytes(2_000_000))
    result = graded(course, tmp_path, disk_mb=5).result
    assert result.score == result.points
    assert [remark.kind for remark in result.remarks] == ["companions_kept_out"]
