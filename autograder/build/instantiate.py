"""Putting answers into grade cells: what the build does itself, and what nbgrader's kernel calls.

The build puts answers in place that were evaluated in a process of their own. `nbgrader
generate_assignment` runs nbgrader's InstantiateTests, whose kernel asks `answer_of` for the text of each
check (see build/autotests.yml). Both give the same notebook.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.build.source_notebook import CHECK_DATA, autotest_lines
from autograder.course import Course
from autograder.errors import CatalogueError
from autograder.exercises import is_grade_cell, metadata_of
from autograder.expected import ExpectedCell, ExpectedLine
from autograder.reference import expected_cell, prepare_process
from autograder.runtime.draw import Draw
from autograder.runtime.grade_cell import STATEMENTS, parse_cell
from autograder.runtime.plain_data import bake, pack, unpack

# the student's own check draws from the cell's name alone
VISIBLE_SEEDS: list[list[int]] = [[]]
# characters; a larger one shows a student no more than the visible draw does
MAX_SMALL_CASE = 2000
Answers = Mapping[str, Mapping[str, str]]


def check_line(expression: str, points: float, answer: dict) -> str:
    """A `check(...)` line with its answer in it."""
    return f"check({expression!r}, points={points:g}, answer={pack(answer)!r})"


def _line(line: ExpectedLine) -> str:
    """A check line from what is expected on the visible draw."""
    draw = line.draws[0]
    answer = {
        **draw.expected,
        "value": bake(draw.expected["value"]),
        "mistakes": draw.mistakes,
    }
    if line.small is not None:
        small = {**line.small, "value": bake(line.small["value"])}
        if len(pack(small)) <= MAX_SMALL_CASE:
            answer["small"] = small
    return check_line(line.expression, line.points, answer)


def answers(cells: Mapping[str, ExpectedCell]) -> Answers:
    """The check lines of grade cells: grade_id -> expression -> text."""
    return {
        name: {line.expression: _line(line) for line in cell.lines} for name, cell in cells.items()
    }


def put_answers(notebook: NotebookNode, found: Answers) -> None:
    """Put check lines in place of the autotest lines of a source notebook."""
    for cell in notebook.cells:
        if is_grade_cell(cell):
            lines = cell.source.split("\n")
            for number, _, expression in autotest_lines(cell.source):
                lines[number] = found[metadata_of(cell).grade_id][expression]
            cell.source = "\n".join(lines)


def _without_relations(source: str) -> str:
    """A grade cell without its relations, and without the functions that only they call."""
    kept = parse_cell(source).functions
    lines = source.split("\n")
    # numbered as the lines of the cell below its magic
    first = int(lines[0].startswith("%%autotest"))
    for node in reversed(ast.parse("\n".join(lines[first:])).body):
        unused = isinstance(node, ast.FunctionDef) and f"def {node.name}(" not in kept
        if unused or ast.unparse(node).startswith(("equal(", "unequal(")):
            del lines[first + node.lineno - 1 : first + (node.end_lineno or node.lineno)]
    return "\n".join(lines)


def collect_answers(notebook: NotebookNode) -> None:
    """Move the answers of all check lines, and relations, into the cell of what the checks compare with."""
    answers: dict[str, dict[str, dict]] = {}
    relations: dict[str, list[dict]] = {}
    for cell in notebook.cells:
        if is_grade_cell(cell):
            name = metadata_of(cell).grade_id
            if found := parse_cell(cell.source).relations:
                relations[name] = list(map(vars, found))
            lines = _without_relations(cell.source).split("\n")
            for number, line in enumerate(lines):
                if line.startswith("check("):
                    (check,) = parse_cell(line).checks
                    own = answers.setdefault(name, {})
                    own[check.expression] = unpack(check.answer or "")
                    lines[number] = f"check({check.expression!r}, points={check.points:g})"
            cell.source = "\n".join(lines)
        elif metadata_of(cell).get("grade_id") == "check_data":
            data = cell
    data.source = f"{CHECK_DATA}\n{pack(relations)}\n{pack(answers)}"


@dataclass(frozen=True)
class _Printed:
    """Text that a kernel displays without quotation marks: nbgrader takes an answer's repr."""

    text: str

    def __repr__(self) -> str:
        return self.text


_current: dict[str, str] = {}


def begin(exercise: str, grade_id: str, source: str) -> tuple[Draw, *tuple[Callable, ...]]:
    """In nbgrader's kernel: evaluate a grade cell; returns draw, and what else stands in such a cell."""
    prepare_process()
    cell = expected_cell(
        Course.find().exercise(exercise), grade_id, source, VISIBLE_SEEDS, for_release=True
    )
    _current.clear()
    _current.update(answers({grade_id: cell})[grade_id])
    nothing = lambda *arguments, **named: None
    return Draw(0), *(nothing for _ in STATEMENTS)


def answer_of(expression: str) -> _Printed:
    """In nbgrader's kernel: the check line of an expression of the cell that `begin` has evaluated."""
    if expression not in _current:
        raise CatalogueError(f"`{expression}` is not an autotest line of this cell.")
    return _Printed(_current[expression])
