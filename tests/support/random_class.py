"""Classes with random results, without grading."""

import random

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from autograder.exercises import grade_cells, released
from autograder.grade.result import Basis, CellResult, LineResult, Result
from autograder.instructor_settings import Limits
from autograder.runtime.compare import Difference
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch2_scaled_dot_product")
WRONG = Difference("number", {"expected": 1, "got": 2})
BASIS = Basis("", "", Limits(), {})


def line(expression, points=1.0, difference=None, mistake=None):
    return LineResult(expression, points, difference, mistake)


def result(student, cells, remarks=(), seconds=1.0, exercise=EXERCISE):
    found = tuple(CellResult(name, tuple(lines)) for name, lines in cells.items())
    return Result(student, exercise.name, found, tuple(remarks), BASIS, seconds)


def random_class(size, seed=0):
    """Students of different strength; each of 8 questions has a difficulty of its own."""
    draw = random.Random(seed)
    cells = list(grade_cells(released(EXERCISE)))[:4]
    found = []
    for number in range(size):
        strength = draw.gauss(0, 1)
        given = {
            cell: [
                line(
                    f"f{i}_{j}(x)",
                    points=1 + j,
                    difference=None if strength + draw.gauss(0, 1) > i / 2 - 1 else WRONG,
                )
                for j in range(2)
            ]
            for i, cell in enumerate(cells)
        }
        found.append(result(f"student-{number:03d}", given))
    return found


def autograded(folder, student, answers):
    notebook = new_notebook()
    for name, source in answers.items():
        metadata = {"nbgrader": {"grade_id": name, "solution": True}}
        notebook.cells.append(new_code_cell(source, metadata=metadata))
    path = folder / "autograded" / student / EXERCISE.name / f"{EXERCISE}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)
