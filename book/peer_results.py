"""The result of `benchmarks/peers.py`, for the page about graders."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULT = "benchmarks/peers.json"
GRADERS = ("torch-judge", "torchleet", "ours")
NO_TASK = "no task"


@dataclass(frozen=True)
class Comparison:
    """What several graders said of the same answers; measured: the file's content."""

    measured: dict[str, Any]

    def total(self, grader: str, name: str) -> int:
        """A sum over all tasks of a grader: wrong, wrong_passed, right or right_failed."""
        return self.measured["total"][grader][name]

    def of_task(self, task: str, grader: str, name: str) -> int:
        """The same for one task."""
        (row,) = [row for row in self.measured["tasks"] if row["task"] == task]
        return row[grader][name]

    def rows(self) -> list[list[str]]:
        """A row for each task, then the sums: of the wrong answers, how many pass."""
        found = [
            [row["title"], *map(_passed, self._graders(row))] for row in self.measured["tasks"]
        ]
        return [*found, ["All", *map(_passed, self._graders(self.measured["total"]))]]

    def passing(self, grader: str, task: str) -> set[str]:
        """The names of the wrong answers to a task that pass a grader."""
        return {one["answer"] for one in self._passing(grader) if one["task"] == task}

    def missed(self, grader: str) -> list[list[str]]:
        """The wrong answers that pass a grader: the task's title, and the mistake in words."""
        titles = {row["task"]: row["title"] for row in self.measured["tasks"]}
        words = {(one["task"], one["name"]): one["what"] for one in self.measured["answers"]}
        return [
            [titles[one["task"]], words[one["task"], one["answer"]]]
            for one in self._passing(grader)
        ]

    def excluded(self) -> list[dict[str, Any]]:
        """The verdicts that don't count, with the reason."""
        return [one for one in self.measured["verdicts"] if one["excluded"]]

    def _passing(self, grader: str) -> list[dict[str, Any]]:
        return [
            one
            for one in self.measured["verdicts"]
            if one["grader"] == grader and one["passed"] and not (one["right"] or one["excluded"])
        ]

    def _graders(self, row: dict[str, Any]) -> list[dict[str, int] | None]:
        return [row[grader] for grader in GRADERS]


def _passed(counts: dict[str, int] | None) -> str:
    return NO_TASK if counts is None else f"{counts['wrong_passed']} of {counts['wrong']}"


def comparison() -> Comparison:
    """The result that lies beside the benchmark."""
    path = Path(__file__).parent.parent / RESULT
    return Comparison(json.loads(path.read_text(encoding="utf-8")))
