"""The attacks of `benchmarks.neighbours` reach the grader whole."""

import json

import pytest

from autograder.course import Course
from autograder.exercises import released
from autograder.grade.sanitize import sanitized
from autograder.grade.submission import read_folder
from benchmarks import neighbours
from tests.support.course import COURSE

EXERCISE = COURSE.exercise(neighbours.EXERCISE)


@pytest.mark.parametrize("name", neighbours.attacks())
def test_nothing_of_an_attack_is_left_out_or_cut(tmp_path, name):
    course, harm = Course(COURSE.root, class_folder=tmp_path), neighbours.attacks()[name]
    neighbours.hand_in(course, EXERCISE, "s1", harm)
    folder = course.submitted / "s1" / EXERCISE.name
    submission = read_folder(folder, "s1", EXERCISE.name, lambda: released(EXERCISE))
    assert submission.remarks == () and submission.companions == harm.files
    notebook, remarks = sanitized(submission, released(EXERCISE), {})
    assert not remarks
    handed_in = json.loads((folder / f"{EXERCISE.name}.ipynb").read_text(encoding="utf-8"))
    assert len(notebook.cells) == len(handed_in["cells"])
    for cell in notebook.cells:
        if cell.cell_type == "code" and "nbgrader" not in cell.metadata:
            compile(cell.source, name, "exec")
