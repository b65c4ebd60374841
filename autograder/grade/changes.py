"""What another grading of the same submissions changes: who gains and who loses, where, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from autograder.grade.result import Result
from autograder.points import as_shown
from autograder.progress import plain_cell


@dataclass(frozen=True)
class Change:
    """One submission, graded anew: its result before (None: it had none) and after."""

    before: Result | None
    after: Result

    @property
    def net(self) -> float:
        """The points won, negative if lost."""
        return self.after.score - (self.before.score if self.before else 0)

    @property
    def cells(self) -> list[str]:
        """The grade cells whose points differ, each with the points before and after, and its lines.

        A check whose text has changed is another check, so a line is named only if it was asked before, too.
        """
        old = {cell.grade_id: cell for cell in self.before.cells} if self.before else {}
        new = {cell.grade_id: cell for cell in self.after.cells}
        found = []
        for name in dict.fromkeys([*new, *old]):
            lost = old[name].earned if name in old else 0
            got = new[name].earned if name in new else 0
            if lost == got:
                continue
            lines = {line.expression: line for line in old[name].lines} if name in old else {}
            moved = [
                f"\n  {'passes' if line.passed else 'fails'} now: {line.expression}"
                for line in (new[name].lines if name in new else ())
                if line.expression in lines and lines[line.expression].earned != line.earned
            ]
            found.append(f"{name}: {as_shown(lost)} -> {as_shown(got)}" + "".join(moved))
        return found

    @property
    def reasons(self) -> list[str]:
        """What the two results are made from that differs."""
        if self.before is None:
            return []
        old, new = self.before.basis, self.after.basis
        reasons = []
        if old.grader != new.grader:
            reasons.append(f"the grader: version {old.grader} -> {new.grader}")
        if old.submission != new.submission:
            reasons.append("handed in again")
        if old.answer_key != new.answer_key:
            reasons.append("the answer key: checks, inputs or known mistakes")
        reasons += [
            f"{package} {old.versions.get(package, '-')} -> {new.versions.get(package, '-')}"
            for package in sorted({*old.versions, *new.versions})
            if old.versions.get(package) != new.versions.get(package)
        ]
        if old.limits != new.limits:
            reasons.append("the limits")
        if old.follow_through != new.follow_through:
            reasons.append(f"follow-through {'on' if new.follow_through else 'off'}")
        return reasons


def renamed_checks(found: Sequence[Change]) -> list[str]:
    """The checks that are asked before or after only, each told once however many are graded."""
    gone: dict[str, None] = {}
    new: dict[str, None] = {}
    for change in found:
        if change.before is None:
            continue
        result = change.after
        before = [f"{result.exercise}, {c}: {line.expression}" for c, line in change.before.lines()]
        after = [f"{result.exercise}, {c}: {line.expression}" for c, line in result.lines()]
        gone |= dict.fromkeys(words for words in before if words not in after)
        new |= dict.fromkeys(words for words in after if words not in before)
    return [f"{words} (no longer asked)" for words in gone] + [f"{words} (new)" for words in new]


def show_renamed(found: Sequence[Change]) -> None:
    """Print the checks that are asked before or after only."""
    console = Console(width=120)
    for words in renamed_checks(found):
        # expressions are no markup
        console.print(plain_cell(words))


def show(found: Sequence[Change], title: str) -> None:
    """Print whose points change and where, who loses most first; what the rules differ in; who keeps theirs."""
    console = Console(width=120)
    changed = [change for change in found if change.cells]
    table = Table(title=title)
    for head in ("student", "exercise", "before", "after", "change", "answers"):
        table.add_column(head, overflow="fold")
    for change in sorted(changed, key=lambda c: (c.net, c.after.exercise, c.after.student)):
        before = f"{as_shown(change.before.score)}" if change.before else "-"
        own = change.after
        points = before, f"{as_shown(own.score)}", f"{as_shown(change.net):+}"
        words = "\n".join(change.cells)
        table.add_row(*map(plain_cell, (own.student, own.exercise, *points, words)))
    if table.rows:
        console.print(table)
    for reason, count in Counter(one for change in found for one in change.reasons).items():
        console.print(plain_cell(f"What differs from before ({count} of {len(found)}): {reason}"))
    lose = sum(change.net < 0 for change in changed)
    gain = sum(change.net > 0 for change in changed)
    same = len(found) - len(changed)
    console.print(
        f"{len(found)} graded anew: {lose} lose points, {gain} gain, {same} keep the same points for every "
        "answer."
    )
