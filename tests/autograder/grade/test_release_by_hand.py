"""A released notebook that somebody has saved, changed or damaged by hand: graded as it is, or refused in a sentence."""

import json

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.build import generate
from autograder.course import Course
from autograder.errors import ExerciseError
from autograder.exercises import answer_cell, metadata_of, released
from autograder.grade.gradebook import check_release, register
from autograder.grade.sanitize import sanitized
from autograder.grade.submission import Submission, SubmittedCell


@pytest.fixture
def notebook(small_exercise):
    """The released notebook's file, which is put back afterwards."""
    path = small_exercise.notebook
    original = path.read_text(encoding="utf-8")
    yield path
    path.write_text(original, encoding="utf-8")


def test_a_notebook_whose_ids_are_lost_is_the_same(small_exercise, notebook):
    before = released(small_exercise)
    saved = json.loads(notebook.read_text(encoding="utf-8"))
    for number, cell in enumerate(saved["cells"]):
        # an older editor drops them, Colab gives others
        cell.pop("id")
        if number % 2:
            cell["id"] = f"c{number}"
    notebook.write_text(json.dumps({**saved, "nbformat_minor": 4}), encoding="utf-8")
    after = released(small_exercise)
    marked = [cell.id for cell in after.cells if metadata_of(cell)]
    assert marked == [cell.id for cell in before.cells if metadata_of(cell)]
    mine = SubmittedCell("code", "def double(x):\n    return 2 * x", grade_id="double")
    made, remarks = sanitized(Submission("ada", (mine,)), after, {})
    assert mine.source in [cell.source for cell in made.cells] and remarks == []


@pytest.mark.parametrize("content", ['{"cells": [', "[]", "", '{"cells": 7, "nbformat": 4}'])
def test_a_notebook_that_cannot_be_read_is_refused_with_a_way_out(
    small_exercise, notebook, content
):
    notebook.write_text(content, encoding="utf-8")
    with pytest.raises(ExerciseError, match=r"can't be read as a notebook .* delete it and run"):
        released(small_exercise)


def test_another_name_for_an_answer_is_another_exercise(small_exercise, notebook, tmp_path):
    course = Course(small_exercise.root, class_folder=tmp_path)
    register(course, small_exercise)
    release = released(small_exercise)
    with Gradebook(course.db_url) as gradebook:
        check_release(small_exercise, release, gradebook)
        answer_cell(release).metadata.nbgrader.grade_id = "another"
        with pytest.raises(ExerciseError, match="cell another, is not the one"):
            check_release(small_exercise, release, gradebook)


def test_outputs_and_another_kernel_change_nothing(small_exercise, notebook, tmp_path):
    course = Course(small_exercise.root, class_folder=tmp_path)
    register(course, small_exercise)
    release = released(small_exercise)
    for cell in release.cells:
        if cell.cell_type == "code":
            cell.outputs = [nbformat.v4.new_output("stream", text="run")]
    release.metadata.kernelspec = {"name": "mine", "display_name": "My environment"}
    nbformat.write(release, notebook)
    assert not register(course, small_exercise)


def test_a_notebook_that_was_deleted_is_built_again(small_exercise, notebook):
    before = notebook.read_text(encoding="utf-8")
    notebook.unlink()
    generate.build(Course(small_exercise.root), [small_exercise])
    assert notebook.read_text(encoding="utf-8") == before
