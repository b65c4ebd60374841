"""Tasks that pages of the book check themselves: what a page needs of the exercise's notebook.

What runs in a page has no secret and gives no grade: it is the notebook's own checks, as students get them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from autograder.course import Exercise
from autograder.embedding import without_words
from autograder.exercises import graded_answers, is_answer_cell, metadata_of, released
from autograder.programs import spans_of

BLOCK = re.compile(r"^:::+ *\{practice\} +(\w+) +(\w+)", flags=re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """One answer of an exercise: what stands there at first, its grade cells, and their points."""

    name: str
    stub: str
    cells: tuple[str, ...]
    points: float


@dataclass(frozen=True)
class PracticeNotebook:
    """What the cells of an exercise hold: the first one, the checks, their data, and by task the grade cells."""

    header: str
    checker: str
    data: str
    cells: dict[str, tuple[str, ...]]

    def as_json(self) -> dict:
        """The arguments of `Exercise` in book/_practice/shell.py."""
        return asdict(self)


def offered_tasks(book: Path) -> dict[str, str]:
    """The tasks that pages of a folder have a block for, each with its exercise."""
    return {
        task: exercise
        for page in sorted(book.glob("*.md"))
        for exercise, task in BLOCK.findall(page.read_text(encoding="utf-8"))
    }


def practice_tasks(exercise: Exercise) -> dict[str, Task]:
    """All tasks of an exercise that ask for code, by name, in its order."""
    notebook = released(exercise)
    graded = graded_answers(notebook)
    found = {}
    for cell in filter(is_answer_cell, notebook.cells):
        for name in spans_of(cell.source):
            checks = [
                c
                for c in notebook.cells
                if graded.get(metadata_of(c).get("grade_id", "")) == (name,)
            ]
            cells = tuple(check.source for check in checks)
            points = sum(metadata_of(check).points for check in checks)
            found[name] = Task(name, cell.source, cells, points)
    return found


def practice_notebook(exercise: Exercise) -> PracticeNotebook:
    """What a page needs to check an exercise's tasks."""
    cells = {cell.id: cell.source for cell in released(exercise).cells}
    grade_cells = {name: task.cells for name, task in practice_tasks(exercise).items()}
    return PracticeNotebook(cells["imports"], cells["checker"], cells["check_data"], grade_cells)


def answers_used(exercise: Exercise) -> dict[str, str]:
    """What a solution imports from other solutions: each name, and the name of the exercise it's from."""
    return {
        alias.name: node.module.removeprefix("solutions.")
        for node in ast.parse(exercise.program()).body
        if isinstance(node, ast.ImportFrom)
        and node.module is not None
        and node.module.startswith("solutions.")
        for alias in node.names
    }


def numpy_names() -> dict[str, list[str]]:
    """The public names of the NumPy that the course is checked with."""
    named = {"numpy": np, "ndarray": np.ndarray}
    return {kind: [n for n in dir(of) if not n.startswith("_")] for kind, of in named.items()}


def stand_in_sources(folder: Path, exercise: Exercise, offered: Iterable[str]) -> dict[str, str]:
    """The modules of the stand-in for torch in a folder, by the names that they have in a page.

    offered: the tasks of the exercise that the page checks; none where none of these needs torch, and
    neither do their checks, which `forbid` what is ready-made in torch.
    """
    tasks = practice_tasks(exercise)
    cells = [text for name in offered for text in (tasks[name].stub, *tasks[name].cells)]
    if not any("torch" in text or "forbid(" in text for text in cells):
        return {}
    return {
        f"torch.{path.stem}".removesuffix(".__init__"): without_words(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(folder.glob("*.py"))
    }
