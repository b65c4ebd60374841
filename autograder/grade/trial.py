"""After a fix to a check: who gains and who loses what, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from autograder.course import Course, Exercise
from autograder.grade import resubmissions
from autograder.grade.examine import Graded
from autograder.grade.grade_class import Grader, WorkerOptions, handed_in
from autograder.grade.gradebook import Recorder, register, stored_result
from autograder.grade.lock import only_grader
from autograder.grade.result import Result
from autograder.progress import agreed, plain_cell


@dataclass(frozen=True)
class Change:
    """One submission, graded anew: its result before (None: it had none) and after."""

    before: Result | None
    after: Graded

    @property
    def net(self) -> float:
        """The points won, negative if lost."""
        return self.after.result.score - (self.before.score if self.before else 0)

    @property
    def cells(self) -> list[str]:
        """The grade cells whose points differ, each with the points before and after.

        A check whose text has changed is another check, so a cell is what can be compared.
        """
        old = {cell.grade_id: cell.earned for cell in self.before.cells} if self.before else {}
        new = {cell.grade_id: cell.earned for cell in self.after.result.cells}
        return [
            f"{name}: {old.get(name, 0):g} -> {new.get(name, 0):g}"
            for name in dict.fromkeys([*new, *old])
            if old.get(name, 0) != new.get(name, 0)
        ]


def renamed_checks(found: Sequence[Change]) -> list[str]:
    """The checks that are asked before or after only, each told once however many are graded."""
    gone: dict[str, None] = {}
    new: dict[str, None] = {}
    for change in found:
        if change.before is None:
            continue
        result = change.after.result
        before = [f"{result.exercise}, {c}: {line.expression}" for c, line in change.before.lines()]
        after = [f"{result.exercise}, {c}: {line.expression}" for c, line in result.lines()]
        gone |= dict.fromkeys(words for words in before if words not in after)
        new |= dict.fromkeys(words for words in after if words not in before)
    return [f"{words} (no longer asked)" for words in gone] + [f"{words} (new)" for words in new]


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
    resubmissions.tell(recorder.fallen)


def show(found: Sequence[Change]) -> None:
    """Print whose points change and where: who loses most comes first, who keeps theirs is counted."""
    console = Console(width=120)
    for words in renamed_checks(found):
        # expressions are no markup
        console.print(plain_cell(words))
    changed = [change for change in found if change.cells]
    table = Table(title="What would change")
    for head in ("student", "exercise", "before", "after", "change", "answers"):
        table.add_column(head, overflow="fold")
    for change in sorted(
        changed, key=lambda c: (c.net, c.after.result.exercise, c.after.result.student)
    ):
        before = f"{change.before.score:g}" if change.before else "-"
        own = change.after.result
        points = before, f"{own.score:g}", f"{change.net:+g}"
        table.add_row(
            *map(plain_cell, (own.student, own.exercise, *points, "\n".join(change.cells)))
        )
    if table.rows:
        console.print(table)
    lose = sum(change.net < 0 for change in changed)
    gain = sum(change.net > 0 for change in changed)
    same = len(found) - len(changed)
    console.print(
        f"{len(found)} graded anew: {lose} lose points, {gain} gain, {same} keep the same points for every "
        "answer."
    )


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
        if not (confirmed or agreed("Write these grades?")):
            print("Nothing was written.")
            return False
        accept(course, found)
    return True
