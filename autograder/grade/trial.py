"""After a fix to a test: who gains and who loses what, before anything is written."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from rich.console import Console
from rich.table import Table

from autograder.grade.grade_class import Course, Means, classes, examine, register, result_of, stale


@dataclass(frozen=True)
class Change:
    """One submission, graded anew: its result before (None: it had none) and after."""

    before: dict | None
    after: dict
    notebook: Path

    @property
    def lines(self) -> list[str]:
        """The checks whose points differ, each with the points before and after."""
        old, new = _earned(self.before), _earned(self.after)
        return [
            f"{cell}: {expression}: {old.get((cell, expression), 0):g} -> {points:g}"
            for (cell, expression), points in new.items()
            if points != old.get((cell, expression), 0)
        ] + [
            f"{cell}: {expression}: gone"
            for cell, expression in old
            if (cell, expression) not in new
        ]


def _earned(result: dict | None) -> dict[tuple[str, str], float]:
    cells = result["cells"] if result else {}
    return {
        (cell, line["expression"]): line["earned"]
        for cell, lines in cells.items()
        for line in lines
    }


def changes(
    course: Course, exercises: Sequence[str] | None, means: Means, folder: Path
) -> list[Change]:
    """Grade what is not graded as it is by the grader as it is; examined notebooks go to a folder."""
    found = []
    for student, exercise, notebook in examine(
        course, stale(course, classes(course, exercises)), means, "Grading on trial"
    ):
        path = folder / f"{len(found)}.ipynb"
        nbformat.write(notebook, path)
        graded = course.graded_notebook(student, exercise).exists()
        before = course.result(student, exercise) if graded else None
        found.append(Change(before, result_of(student, exercise, notebook), path))
    return found


def accept(course: Course, found: Sequence[Change]) -> None:
    """Write the new grades; what was graded by hand stays."""
    for exercise in sorted({change.after["exercise"] for change in found}):
        register(exercise, course.db_url, rerelease=True)
    for change in found:
        notebook = nbformat.read(change.notebook, as_version=4)
        course.record(change.after["student"], change.after["exercise"], notebook)


def show(found: Sequence[Change]) -> None:
    """Print who gains or loses, and on which checks."""
    table = Table(title="What would change")
    for head in ("student", "exercise", "before", "after", "checks"):
        table.add_column(head, overflow="fold")
    for change in sorted(
        found, key=lambda change: (change.after["exercise"], change.after["student"])
    ):
        if change.lines:
            before = f"{change.before['score']:g}" if change.before else "-"
            own = change.after
            row = (own["student"], own["exercise"], before, f"{own['score']:g}")
            table.add_row(*row, "\n".join(change.lines))
    console = Console(width=120)
    if table.rows:
        console.print(table)
    same = sum(not change.lines for change in found)
    console.print(f"{len(found)} graded anew, {same} of them with the same points on every check.")


def regrade(course: Course, exercises: Sequence[str] | None, means: Means, confirmed: bool) -> bool:
    """Show what a new grading would change, and write it if that is confirmed; returns whether it was.

    confirmed: do not ask.
    """
    with tempfile.TemporaryDirectory(prefix="trial-") as folder:
        found = changes(course, exercises, means, Path(folder))
        show(found)
        if not found:
            return False
        if not (confirmed or _agreed()):
            print("Nothing was written.")
            return False
        accept(course, found)
    return True


def _agreed() -> bool:
    try:
        return input("Write these grades? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
