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


# the width of a field for code, in characters
MAX_WIDTH = 64
TO_DO = re.compile(r"^( *)raise NotImplementedError\(.*\)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """One answer of an exercise: what a page shows of it at first, its grade cells, and their points."""

    name: str
    stub: str
    cells: tuple[str, ...]
    points: float


@dataclass(frozen=True)
class PracticeNotebook:
    """What the cells of an exercise hold: the first one, the checks, their data, and by task the grade cells.

    built: what earlier exercises built, "" where there are none.
    """

    header: str
    built: str
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
            found[name] = Task(name, short_stub(cell.source), cells, points)
    return found


def short_stub(source: str) -> str:
    """What a notebook hands out, as it fits into a page: without annotations, docstrings in one line."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if docstring := ast.get_docstring(node):
            node.body[0] = ast.Expr(ast.Constant(docstring.partition("\n")[0]))
    text = TO_DO.sub(r"\1# your code here\n\1raise NotImplementedError", ast.unparse(tree))
    return "\n".join(map(_broken, text.split("\n"))) + "\n"


def _broken(line: str) -> str:
    """A long line of a signature with a line for each argument."""
    if not line.lstrip().startswith("def ") or len(line) <= MAX_WIDTH:
        return line
    begin, _, arguments = line.removesuffix("):").partition("(")
    indent = " " * (len(line) - len(line.lstrip()))
    return "\n".join(
        [f"{begin}(", *(f"{indent}    {one}," for one in arguments.split(", ")), f"{indent}):"]
    )


def practice_notebook(exercise: Exercise) -> PracticeNotebook:
    """What a page needs to check an exercise's tasks."""
    cells = {cell.id: cell.source for cell in released(exercise).cells}
    grade_cells = {name: task.cells for name, task in practice_tasks(exercise).items()}
    built = cells.get("built_so_far", "")
    return PracticeNotebook(
        cells["imports"], built, cells["checker"], cells["check_data"], grade_cells
    )


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


def uses_torch(exercise: Exercise, offered: Iterable[str]) -> bool:
    """Whether some of an exercise's tasks, or their checks, need torch."""
    notebook, tasks = released(exercise), practice_tasks(exercise)
    answers = [cell.source for cell in filter(is_answer_cell, notebook.cells)]
    cells = [text for text in answers if {*spans_of(text)} & {*offered}]
    cells += [text for name in offered for text in tasks[name].cells]
    return any("torch" in text or "nn." in text or "forbid(" in text for text in cells)


def stand_in_sources(folder: Path, exercise: Exercise, offered: Iterable[str]) -> dict[str, str]:
    """The modules of the stand-in for torch in a folder, by the names that they have in a page.

    offered: the tasks of the exercise that the page checks; none where none of these needs torch, and
    neither do their checks, which `forbid` what is ready-made in torch.
    """
    if not uses_torch(exercise, offered):
        return {}
    return {
        f"torch.{path.stem}".removesuffix(".__init__"): without_words(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(folder.glob("*.py"))
    }
