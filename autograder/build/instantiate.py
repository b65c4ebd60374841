"""Putting answers into grade cells: what the build does itself, and what nbgrader's kernel calls.

The build puts answers in place that were evaluated in a process of their own. `nbgrader
generate_assignment` runs nbgrader's InstantiateTests, whose kernel asks `answer_of` for the text of each
check (see autotests.yml). Both give the same notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.build.source_notebook import autotest_lines
from autograder.course import Course
from autograder.errors import CatalogueError
from autograder.exercises import given, is_grade_cell
from autograder.reference import ExpectedCell, ExpectedLine, expected_cell, prepare_process
from autograder.runtime.draw import Draw
from autograder.runtime.plain_data import bake, pack

# the student's own check draws from the cell's name alone
VISIBLE_SEEDS: list[list[int]] = [[]]
Answers = Mapping[str, Mapping[str, str]]


def check_line(line: ExpectedLine) -> str:
    """A `check(...)` line with its answer baked in, from what is expected on the visible draw."""
    draw = line.draws[0]
    answer = {
        **draw.expected,
        "value": bake(draw.expected["value"]),
        "mistakes": draw.mistakes,
    }
    return f"check({line.expression!r}, points={line.points:g}, answer={pack(answer)!r})"


def answers(cells: Mapping[str, ExpectedCell]) -> Answers:
    """The check lines of grade cells: grade_id -> expression -> text."""
    return {
        name: {line.expression: check_line(line) for line in cell.lines}
        for name, cell in cells.items()
    }


def put_answers(notebook: NotebookNode, found: Answers) -> None:
    """Put check lines in place of the autotest lines of a source notebook."""
    for cell in notebook.cells:
        if is_grade_cell(cell):
            lines = cell.source.split("\n")
            for number, _, expression in autotest_lines(cell.source):
                lines[number] = found[given(cell).grade_id][expression]
            cell.source = "\n".join(lines)


@dataclass(frozen=True)
class _Printed:
    """Text that a kernel displays without quotation marks: nbgrader takes an answer's repr."""

    text: str

    def __repr__(self) -> str:
        return self.text


_current: dict[str, str] = {}


def begin(exercise: str, grade_id: str, source: str) -> tuple[Draw, Callable, Callable, Callable]:
    """In nbgrader's kernel: evaluate a grade cell; returns draw, forbid, agreement and says for it."""
    prepare_process()
    cell = expected_cell(Course.find().exercise(exercise), grade_id, source, VISIBLE_SEEDS)
    _current.clear()
    _current.update(answers({grade_id: cell})[grade_id])
    nothing = lambda *arguments, **named: None
    return Draw(0), nothing, nothing, nothing


def answer_of(expression: str) -> _Printed:
    """In nbgrader's kernel: the check line of an expression of the cell that `begin` has evaluated."""
    if expression not in _current:
        raise CatalogueError(f"`{expression}` is not an autotest line of this cell.")
    return _Printed(_current[expression])
