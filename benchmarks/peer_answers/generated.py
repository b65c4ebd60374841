"""Wrong answers that a program makes: right code changed in one place, by the same rules in all tasks.

The rules are those of `autograder/mutations.py`. `python -m benchmarks.peer_answers` draws some of all changes and writes
down which of them are wrong, by comparison with right code on inputs that each statement allows. The list is kept
beside this file.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.mutations import code
from benchmarks.peer_answers.answer import Answer, Task

LIST = Path(__file__).with_name("generated.json")
WHY = "another result than that of right code, on inputs that the statement allows"


@dataclass(frozen=True)
class Change:
    """One line of a task's code that is changed.

    line: which one, counted from 0 in the layout of `ast.unparse`; code: what stands there; wrong_for: the
    graders by whose statement it is wrong; large: those of them where it shows with scores of hundreds only.
    """

    line: int
    code: str
    wrong_for: list[str]
    large: list[str]

    def answer(self, number: int, text: str) -> Answer:
        """The answer with this number; text: the task's code."""
        lines = code(text).splitlines()
        before, lines[self.line] = lines[self.line], self.code
        return Answer(
            f"generated_{number:02}",
            f"`{self.code.strip()}` in place of `{before.strip()}`",
            "\n".join(lines) + "\n",
            dict.fromkeys(self.wrong_for, WHY),
            large=frozenset(self.large),
        )


@functools.cache
def _list() -> dict:
    return json.loads(LIST.read_text(encoding="utf-8"))


def with_generated(task: Task) -> Task:
    """A task with its generated answers, and with the published ones that need large scores marked."""
    kept = _list()[task.name]
    published = [
        replace(answer, large=frozenset(kept["large"].get(answer.name, ())))
        for answer in task.answers
    ]
    changes = [Change(**one) for one in kept["changes"]]
    generated = [change.answer(number, task.text) for number, change in enumerate(changes, 1)]
    return replace(task, answers=(*published, *generated))
