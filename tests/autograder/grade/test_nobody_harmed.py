"""No submission stops the grading of the others, or costs them points, memory or time."""

import dataclasses

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from autograder.course import Course
from autograder.exercises import reference_answers, released, solved
from autograder.grade.examine import grade_submission
from autograder.grade.grade_class import Grader, grade_named, grading_settings
from autograder.grade.submission import read_folder
from autograder.grade.words import remark
from tests.support import small_course as small
from tests.support.class_keys import give_keys
from tests.support.grading import grade_here
from tests.support.needs import needs_sandbox
from tests.support.submissions import EXERCISE, right, save

pytestmark = pytest.mark.xdist_group("submissions")


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


def test_a_notebook_that_waits_costs_its_time_in_three_runs_and_no_more(tmp_path):
    with small.settings_of_a_course(tmp_path):
        exercise = small.built_exercise(tmp_path)
        with (tmp_path / "nbgrader_config.py").open("a") as file:
            file.write("\nc.Grader.cell_seconds = 0.2\n")
        course = Course(tmp_path)
        folder = course.submitted / "waits" / exercise.name
        folder.mkdir(parents=True)
        notebook = solved(exercise, reference_answers(exercise))
        notebook.cells.insert(0, new_code_cell("import time\ntime.sleep(60)"))
        nbformat.write(notebook, folder / f"{exercise.name}.ipynb")
        for run in (1, 2, 3):
            (result,) = grade_here(course, exercise.name)
            assert (result.runs, result.is_final) == (run, run == 3)
        # it has the points of its checks, and a person looks at it
        assert result.score == result.points and result.is_for_a_person
        assert "each of 3 runs" in remark(result.remarks[-1])
        assert grade_named(course, exercise.name, "*", force=False, create_student=True) == []
        # what is handed in anew is graded anew
        nbformat.write(
            solved(exercise, reference_answers(exercise)), folder / f"{exercise.name}.ipynb"
        )
        (result,) = grade_here(course, exercise.name)
        assert (result.runs, result.remarks) == (0, ())


@needs_sandbox
def test_companions_that_do_not_fit_are_left_out_and_told(course, tmp_path):
    save(tmp_path, right())
    for number in range(3):
        (tmp_path / f"{number}.bin").write_bytes(bytes(2_000_000))
    result = graded(course, tmp_path, disk_mb=5).result
    assert result.score == result.points
    assert [remark.kind for remark in result.remarks] == ["companions_kept_out"]
