"""After a fix to a check: who gains and who loses what, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.course import Course, Exercise
from autograder.grade.examine import Graded
from autograder.grade.grade_class import Grader, WorkerOptions, handed_in
from autograder.grade.gradebook import Recorder, register, stored_result
from autograder.grade.lock import only_grader
from autograder.grade.result import Result


@dataclass(frozen=True)
class Change:
    """One submission, graded anew: its result before (None: it had none) and after."""

    before: Result | None
    after: Graded

    @property
    def lines(self) -> list[str]:
        """The checks whose points differ, each with the points before and after."""
        old, new = _earned(self.before), _earned(self.after.result)
        return [
            f"{cell}: {expression}: {old.get((cell, expression), 0):g} -> {points:g}"
            for (cell, expression), points in new.items()
            if points != old.get((cell, expression), 0)
        ] + [
            f"{cell}: {expression}: gone"
            for cell, expression in old
            if (cell, expression) not in new
        ]


def _earned(result: Result | None) -> dict[tuple[str, str], float]:
    if result is None:
        return {}
    return {(cell, line.expression): line.earned for cell, line in result.lines()}


def changes(course: Course, exercises: Sequence[Exercise], options: WorkerOptions) -> list[Change]:
    """Grade what is not current; nothing is written."""
    grader = Grader(course)
    work = grader.stale(handed_in(course, exercises))
    return [
        Change(stored_result(course, graded.result.student, graded.result.exercise), graded)
        for graded in grader.examine(work, options, "Grading on trial")
    ]


def accept(course: Course, found: Sequence[Change]) -> None:
    """Write the new grades; what was graded by hand stays."""
    for name in sorted({change.after.result.exercise for change in found}):
        register(course, course.exercise(name), rerelease=True)
    with Recorder(course) as recorder:
        for change in found:
            recorder.record(change.after)


def show(found: Sequence[Change]) -> None:
    """Print who gains or loses, and on which checks."""
    table = Table(title="What would change")
    for head in ("student", "exercise", "before", "after", "checks"):
        table.add_column(head, overflow="fold")
    for change in sorted(found, key=lambda c: (c.after.result.exercise, c.after.result.student)):
        if change.lines:
            before = f"{change.before.score:g}" if change.before else "-"
            own = change.after.result
            row = (own.student, own.exercise, before, f"{own.score:g}", "\n".join(change.lines))
            # names and expressions are no markup
            table.add_row(*map(Text, row))
    console = Console(width=120)
    if table.rows:
        console.print(table)
    same = sum(not change.lines for change in found)
    console.print(f"{len(found)} graded anew, {same} of them with the same points on every check.")


def regrade(
    course: Course, exercises: Sequence[Exercise], options: WorkerOptions, confirmed: bool
) -> bool:
    """Show what a new grading would change, and write it if that is confirmed; returns whether it was.

    confirmed: do not ask.
    """
    with only_grader(course.home):
        found = changes(course, exercises, options)
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
