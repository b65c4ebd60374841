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
    not; written: points of written answers.
    """

    name: str
    points: float
    earned: float
    unchecked: float
    written: float

    @property
    def is_open(self) -> bool:
        """Whether points of the checks are missing."""
        return self.earned < self.points


@dataclass(frozen=True)
class Report:
    """What `progress()` shows. not_passed: by task, grade cells that have run and lost points."""

    standings: Sequence[Standing]
    not_passed: Mapping[str, Sequence[str]]

    def __repr__(self) -> str:
        width = max((len(standing.name) for standing in self.standings), default=0)
        lines = [
            f"{' ' if not s.points else '✗' if s.is_open else '✓'} {s.name:{width}}   {self._words(s)}"
            for s in self.standings
        ]
        earned, points = (
            sum(getattr(standing, name) for standing in self.standings)
            for name in ("earned", "points")
        )
        total = (
            f"Together {earned:g} of {points:g} points. A check counts as it was when it last ran."
        )
        return "\n".join([*lines, "", total])

    def _words(self, standing: Standing) -> str:
        words = []
        if standing.points and standing.unchecked == standing.points:
            words.append(f"{standing.points:g} points, not checked yet")
        elif standing.points:
            words.append(f"{standing.earned:g} of {standing.points:g} points")
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


@dataclass
class Progress:
    """The tasks of one notebook, and the points of every grade cell when it last ran."""

    tasks: Sequence[Task]
    _earned: dict[str, float] = field(default_factory=dict)

    def record(self, grade_id: str, earned: float) -> None:
        """A grade cell was checked."""
        self._earned[grade_id] = earned

    def report(self) -> Report:
        """How the tasks stand now."""
        standings = [
            Standing(
                task.name,
                points=sum(task.checks.values()),
                earned=sum(self._earned.get(cell, 0) for cell in task.checks),
                unchecked=sum(p for cell, p in task.checks.items() if cell not in self._earned),
                written=task.written,
            )
            for task in self.tasks
        ]
        return Report(standings, {task.name: list(self._not_passed(task)) for task in self.tasks})

    def _not_passed(self, task: Task) -> Iterable[str]:
        for cell, points in task.checks.items():
            if self._earned.get(cell, points) < points:
                yield cell
