"""The results of `benchmarks/peers.py`, `one_grade.py` and `fresh_answers.py`, for the page about graders."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULT = "benchmarks/peers.json"
EARLIER = "benchmarks/peers_earlier.json"
AGAIN = "benchmarks/one_grade.json"
# the same answers, graded for the first time and by the present checks
FRESH = ("benchmarks/fresh_answers_first.json", "benchmarks/fresh_answers.json")
GRADERS = ("torch-judge", "torchleet", "ours")
NO_TASK = "no task"


@dataclass(frozen=True)
class Comparison:
    """What several graders said of the same answers.

    measured: the content of the result; earlier: the counts of an earlier list, by the grader of this course.
    """

    measured: dict[str, Any]
    earlier: dict[str, Any]

    def rows(self, kind: str) -> list[list[str]]:
        """A row for each task: of the wrong answers of a kind, how many pass each grader."""
        return [
            [row["title"], *(_passed(row[grader], kind) for grader in GRADERS)]
            for row in self.measured["tasks"]
            if any(row[grader] and row[grader][kind]["given"] for grader in GRADERS)
        ]

    def of_task(self, grader: str, task: str) -> tuple[int, int]:
        """Of all wrong answers in one task: how many pass, and how many were given."""
        (row,) = [row for row in self.measured["tasks"] if row["task"] == task]
        wrong = [counts for kind, counts in row[grader].items() if kind != "right"]
        return sum(one["passed"] for one in wrong), sum(one["given"] for one in wrong)

    def right_failed(self, grader: str) -> int:
        """How many right answers a grader fails, in all tasks."""
        found = [row[grader]["right"] for row in self.measured["tasks"] if row[grader]]
        return sum(one["given"] - one["passed"] for one in found)

    def missed(self, grader: str) -> list[list[str]]:
        """The wrong answers that pass a grader: the task's title, where it is from, and the mistake."""
        titles = {row["task"]: row["title"] for row in self.measured["tasks"]}
        words = {(one["task"], one["name"]): one["what"] for one in self.measured["answers"]}
        return [
            [titles[one["task"]], one["kind"], words[one["task"], one["answer"]]]
            for one in self.measured["verdicts"]
            if one["grader"] == grader and one["passed"] and one["kind"] != "right"
        ]

    def changed(self) -> list[list[str]]:
        """Tasks in which the first run of this list gave another result, with both."""
        rows = []
        for first, now in zip(self.measured["first"]["tasks"], self.measured["tasks"], strict=True):
            for grader in GRADERS:
                for kind in first[grader] or ():
                    before, after = (_passed(row[grader], kind) for row in (first, now))
                    if before != after:
                        rows.append([now["title"], grader, kind, before, after])
        return rows

    def earlier_rows(self) -> list[list[str]]:
        """The earlier list: by task, how many wrong answers passed ours first, and later."""
        return [
            [row["title"], *(f"{row[run]} of {row['wrong']}" for run in ("first", "later"))]
            for row in self.earlier["tasks"]
        ]


def _passed(counts: dict[str, Any] | None, kind: str) -> str:
    if counts is None:
        return NO_TASK
    of = counts[kind]
    return f"{of['passed']} of {of['given']}" if of["given"] else "none given"


def comparison() -> Comparison:
    """The results that lie beside the benchmark."""
    return Comparison(_read(RESULT), _read(EARLIER))


def gradings() -> dict[str, Any]:
    """What came of grading the same submissions again and again."""
    return _read(AGAIN)


def fresh_answers() -> tuple[dict[str, Any], dict[str, Any]]:
    """What was said about fresh answers the first time, and what the present checks say."""
    first, present = map(_read, FRESH)
    return first, present


def _read(name: str) -> dict[str, Any]:
    path = Path(__file__).parent.parent / name
    return json.loads(path.read_text(encoding="utf-8"))
