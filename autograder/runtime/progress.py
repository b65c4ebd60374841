"""Points by task, as the checks of a notebook have found them, and what is still open.

`progress` is a name of the notebook. In the grader it exists, too, and does nothing (see `guide.STUBS`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

# what a saved notebook keeps of a report, so that a page over all notebooks can be made of it
MIME = "application/vnd.attention-from-scratch.progress+json"


@dataclass(frozen=True)
class Task:
    """A task by its heading. checks: points by grade cell; written: points of written answers."""

    name: str
    checks: Mapping[str, float]
    written: float = 0


@dataclass(frozen=True)
class Standing:
    """What is known about one task.

    points: of all its checks; earned: of those that have run; unchecked: points of those that have
    not; written: points of written answers; waiting: points of checks that failed and use an earlier answer that
    isn't correct yet.
    """

    name: str
    points: float
    earned: float
    unchecked: float
    written: float
    waiting: float = 0

    @property
    def is_open(self) -> bool:
        """Whether points of the checks are missing."""
        return self.earned < self.points


@dataclass(frozen=True)
class Report:
    """What `progress()` shows. not_passed: by task, grade cells that have run and lost points; wrong: the
    answers that points wait for."""

    standings: Sequence[Standing]
    not_passed: Mapping[str, Sequence[str]]
    wrong: Sequence[str] = ()

    def __repr__(self) -> str:
        width = max((len(standing.name) for standing in self.standings), default=0)
        lines = [
            f"{' ' if not s.points else '✗' if s.is_open else '✓'} {s.name:{width}}   {self._words(s)}"
            for s in self.standings
        ]
        earned, points, waiting = (
            sum(getattr(standing, name) for standing in self.standings)
            for name in ("earned", "points", "waiting")
        )
        rest = points - earned - waiting
        waits = f"; {waiting_for(waiting, self.wrong)}, and {rest:g} are open" if waiting else ""
        total = f"Together {earned:g} of {points:g} points{waits}. A check counts as it was when it last ran."
        return "\n".join([*lines, "", total])

    def _words(self, standing: Standing) -> str:
        words = []
        if standing.points and standing.unchecked == standing.points:
            words.append(f"{standing.points:g} points, not checked yet")
        elif standing.points:
            words.append(f"{standing.earned:g} of {standing.points:g} points")
            if standing.waiting:
                words.append(waiting_for(standing.waiting, self.wrong))
            if standing.unchecked:
                words.append(f"{standing.unchecked:g} not checked yet")
            if names := self.not_passed.get(standing.name):
                words.append(f"look at {', '.join(names)}")
        if standing.written:
            words.append(f"written answer: {standing.written:g} points, read by a person")
        return "; ".join(words)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """For a notebook: the text that is shown, and the same as data."""
        return {"text/plain": repr(self), MIME: [asdict(standing) for standing in self.standings]}


def waiting_for(points: float, answers: Sequence[str]) -> str:
    """How many points wait for answers that others use."""
    names = " and ".join(f"`{name}`" for name in answers)
    return f"{points:g} {'waits' if points == 1 else 'wait'} for your {names}"


@dataclass
class Progress:
    """The tasks of one notebook, and the points of every grade cell when it last ran."""

    tasks: Sequence[Task]
    _earned: dict[str, float] = field(default_factory=dict)
    # by grade cell, the points that wait, and the answers that they wait for
    _waiting: dict[str, tuple[float, Sequence[str]]] = field(default_factory=dict)

    def record(
        self, grade_id: str, earned: float, waiting: float = 0, answers: Sequence[str] = ()
    ) -> None:
        """A grade cell was checked. waiting: points that it hasn't earned and that wait for some answers."""
        self._earned[grade_id] = earned
        self._waiting[grade_id] = waiting, answers

    def report(self) -> Report:
        """How the tasks stand now."""
        standings = [
            Standing(
                task.name,
                points=sum(task.checks.values()),
                earned=sum(self._earned.get(cell, 0) for cell in task.checks),
                unchecked=sum(p for cell, p in task.checks.items() if cell not in self._earned),
                written=task.written,
                waiting=sum(
                    self._waiting[cell][0] for cell in task.checks if cell in self._waiting
                ),
            )
            for task in self.tasks
        ]
        wrong = dict.fromkeys(name for _, names in self._waiting.values() for name in names)
        not_passed = {task.name: list(self._not_passed(task)) for task in self.tasks}
        return Report(standings, not_passed, list(wrong))

    def _not_passed(self, task: Task) -> Iterable[str]:
        for cell, points in task.checks.items():
            if self._earned.get(cell, points) < points:
                yield cell
