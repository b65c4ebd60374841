"""The exercises as students get them, and notebooks with answers filled in."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import nbformat
from nbformat import NotebookNode

from autograder.course import Exercise
from autograder.errors import ExerciseError
from autograder.programs import definition_source, spans_of, without_markers
from autograder.runtime.grade_cell import Relation, read_relations
from autograder.runtime.plain_data import unpack
from autograder.runtime.progress import Task

# locked cells that are for students only: the course's own checks, and what they can do with their
# answers at the end; the grader doesn't run them
CHECK_CELLS = ("checker", "check_data", "progress", "now_use_it")
BEFORE = "Before the first task"
# stands for any written answer; true of none, because this module goes to Gradescope, too
WRITTEN = "A written answer, which a person reads and gives points for."


def metadata_of(cell: NotebookNode) -> NotebookNode:
    """nbgrader's metadata of a cell; empty when it has none."""
    return cell.metadata.get("nbgrader", NotebookNode())


def is_grade_cell(cell: NotebookNode) -> bool:
    """Whether a cell holds checks."""
    return cell.cell_type == "code" and bool(metadata_of(cell).get("grade"))


def graded_answers(notebook: NotebookNode) -> dict[str, tuple[str, ...]]:
    """The names of the answers that each grade cell of a built notebook grades, by grade_id."""
    return {
        metadata_of(cell).grade_id: tuple(cell.metadata["autotest"]["grades"])
        for cell in filter(is_grade_cell, notebook.cells)
    }


def is_answer_cell(cell: NotebookNode) -> bool:
    """Whether a cell is for a student's code."""
    return cell.cell_type == "code" and bool(metadata_of(cell).get("solution"))


def is_written_question(cell: NotebookNode) -> bool:
    """Whether a cell is for an answer in words, which a person reads."""
    own = metadata_of(cell)
    return cell.cell_type == "markdown" and bool(own.get("grade") and own.get("solution"))


def cell_digest(source: str) -> str:
    """A digest of a cell's source, whatever its spaces and line breaks."""
    return hashlib.sha256("".join(source.split()).encode()).hexdigest()[:16]


def added_key(cell: str, added: str) -> str:
    """Under which name, which no cell has, stand the versions of a grade cell that ask for an addition."""
    return f"{cell}: {added}"


def heading(source: str, level: str) -> str:
    """The first heading of a level ("# " or "## ") in a Markdown cell; empty if there is none."""
    found = (line for line in source.split("\n") if line.startswith(level))
    return next(found, "").removeprefix(level).strip()


def task_names(notebook: NotebookNode) -> tuple[str, dict[str, str]]:
    """An exercise's title, and of every released cell with a name the task that it belongs to."""
    title, task, found = "", BEFORE, {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and not metadata_of(cell):
            title = title or heading(cell.source, "# ")
            task = heading(cell.source, "## ") or task
        elif metadata_of(cell):
            found[metadata_of(cell).grade_id] = task
    return title, found


def tasks(notebook: NotebookNode) -> list[Task]:
    """The tasks of an exercise that are worth points, in its order."""
    _, names = task_names(notebook)
    found: dict[str, Task] = {}
    for cell in notebook.cells:
        own = metadata_of(cell)
        if own.get("grade") and own.points:
            task = found.setdefault(names[own.grade_id], Task(names[own.grade_id], {}))
            if is_grade_cell(cell):
                new = replace(task, checks={**task.checks, own.grade_id: own.points})
            else:
                new = replace(task, written=task.written + own.points)
            found[task.name] = new
    return list(found.values())


def copied(notebook: NotebookNode) -> NotebookNode:
    """A copy that shares nothing with the original."""
    return nbformat.from_dict(json.loads(json.dumps(notebook)))


def released(exercise: Exercise) -> NotebookNode:
    """The exercise notebook as students get it; ExerciseError when it has not been built, or can't be read."""
    place = exercise.notebook.relative_to(exercise.root)
    again = f"`python -m autograder build --exercise {exercise}`"
    if not exercise.notebook.is_file():
        raise ExerciseError(f"{place} is missing: run {again}.")
    try:
        notebook = nbformat.read(exercise.notebook, as_version=4)
    except (ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        raise ExerciseError(
            f"{place} can't be read as a notebook ({type(error).__name__}). Restore it, or delete it and run {again}."
        ) from error
    for number, cell in enumerate(notebook.cells):
        # some editors leave out the ids of cells, or give others
        cell.id = metadata_of(cell).get("grade_id") or cell.get("id", f"cell-{number}")
    return notebook


def grade_cells(notebook: NotebookNode) -> dict[str, str]:
    """The grade cells of a notebook: grade_id -> source."""
    return {metadata_of(c).grade_id: c.source for c in notebook.cells if is_grade_cell(c)}


def baked_answers(notebook: NotebookNode) -> dict[str, dict[str, dict]]:
    """What a generated notebook's own checks compare with: grade_id -> expression -> answer, as JSON."""
    (cell,) = [cell for cell in notebook.cells if cell.id == "check_data"]
    return unpack(cell.source.rpartition("\n")[2])


def baked_relations(notebook: NotebookNode) -> dict[str, tuple[Relation, ...]]:
    """The relations that a generated notebook's own checks try: by grade_id, where there are any."""
    (cell,) = [cell for cell in notebook.cells if cell.id == "check_data"]
    return read_relations(cell.source.partition("\n")[2])


def reference_answers(exercise: Exercise) -> dict[str, str]:
    """The reference's answers, as a student would have typed them: {name: text}."""
    program = exercise.program()
    return {name: without_markers(definition_source(program, name)) for name in spans_of(program)}


def solved(exercise: Exercise, answers: dict[str, str], written: str = WRITTEN) -> NotebookNode:
    """The released notebook with some answers filled in; the others stay untouched."""
    notebook = copied(released(exercise))
    for cell in notebook.cells:
        if not metadata_of(cell).get("solution"):
            continue
        if cell.cell_type == "markdown":
            cell.source = written or cell.source
            continue
        for name in spans_of(cell.source):
            cell.source = answers.get(name, cell.source)
    return notebook


def answer_cell(notebook: NotebookNode, number: int = 0) -> NotebookNode:
    """The number-th code cell that a student fills in."""
    return [cell for cell in notebook.cells if is_answer_cell(cell)][number]
