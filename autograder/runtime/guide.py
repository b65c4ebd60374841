"""What a student can ask for after a check: the smallest failing case, hints in steps, other ways.

`failing_case`, `hint` and `discuss` are names of the notebook. In the grader they exist, too, and do
nothing (see `STUBS`).
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from .compare import Difference, Expected, judge
from .draw import Draw
from .evaluate import Evaluation, evaluate
from .functions import shown
from .grade_cell import Check, GradeCell, checks_with_inputs
from .messages import sentence, title
from .parts import with_names
from .plain_data import Error, restore
from .relations import value_at

# what the names are while a submission is graded: nothing of a check comes near a student's code
STUBS = "\n".join(
    f"def {name}(*arguments, **named):\n    pass"
    for name in ("failing_case", "hint", "discuss", "progress", "still_missing")
)


# of the text of a value that a case shows when it is printed
MAX_TEXT = 200
# what a case has beside the inputs
BESIDE = ("check", "code", "expected", "yours", "difference")


class Case(SimpleNamespace):
    """Inputs of a check by name, `expected` and `yours`, and where these differ.

    Of a result with several parts these are the first part that differs; yours is an error in words where
    your code raises one. What is printed is rounded, and the inputs that are large are left out.
    """

    def __repr__(self) -> str:
        inputs = {name: one for name, one in vars(self).items() if name not in BESIDE}
        rows = [
            ("input", "\n".join(f"{name} = {_shown(name, one)}" for name, one in inputs.items())),
            ("expected", _shown("expected", self.expected)),
            ("yours", _shown("yours", self.yours)),
        ]
        return "\n".join(f"{row:10}" + text.replace("\n", f"\n{'':10}") for row, text in rows)


def _shown(name: str, value: Any) -> str:
    """A value of a case, or for a large one its shape and how to get it."""
    text = value if isinstance(value, str) else str(_rounded(value))
    if len(text) <= MAX_TEXT or isinstance(value, str):
        return text
    shape = getattr(value, "shape", None)
    size = f"of shape {tuple(shape)}" if shape is not None else f"of {len(value)}"
    return f"{type(value).__name__} {size}: print(case.{name})"


def _rounded(value: Any) -> Any:
    """A value in plain lists, with four digits of each number."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    if isinstance(value, float) and math.isfinite(value):
        number = float(f"{value:.4g}")
        return int(number) if number.is_integer() else number
    return _rounded(value.tolist()) if hasattr(value, "tolist") else value


@dataclass(frozen=True)
class Outcome:
    """A grade cell that was just checked.

    problems: by line, None where it passed; answers: by expression, as the build baked them, with what
    is right on the smallest draw as "small"; hints: what `hint` says, in steps.
    """

    cell: GradeCell
    seed: int
    definitions: Mapping[str, Any]
    problems: Sequence[Difference | None]
    answers: Mapping[str, Mapping[str, Any]]
    hints: Sequence[str]


@dataclass(frozen=True)
class Way:
    """Another way to solve a task: in words, as a fragment of at most three lines, and what it costs."""

    words: str
    fragment: str
    cost: str


@dataclass
class Guide:
    """What is offered in one notebook. ways: by answer; tasks: by answer, its grade cells."""

    ways: Mapping[str, Sequence[Way]]
    tasks: Mapping[str, Iterable[str]]
    _outcomes: dict[str, Outcome] = field(default_factory=dict)
    # the cells that were checked since the last hint or case
    _ran: list[str] = field(default_factory=list)
    _told: Outcome | None = None
    _said: int = 0
    _passed: dict[str, None] = field(default_factory=dict)

    def record(self, grade_id: str, outcome: Outcome) -> None:
        """A grade cell was checked."""
        self._ran.append(grade_id)
        self._outcomes[grade_id] = outcome
        self._passed.pop(grade_id, None)
        if not any(outcome.problems):
            self._passed[grade_id] = None

    def _failed(self) -> Outcome | None:
        """The first check that has failed since this was asked last, else the one that was told, else the first."""
        new = [self._outcomes[name] for name in self._ran]
        before = [one for one in self._outcomes.values() if one is self._told]
        outcomes = [*new, *before, *self._outcomes.values()]
        found = next((one for one in outcomes if one and any(one.problems)), None)
        if self._ran or found is not self._told:
            self._said = 0
        self._ran, self._told = [], found
        return found

    def failing_case(self) -> Case | None:
        """A case of the first line of a check that failed, as small as it is known.

        Call it as `case = failing_case()`; `print(case)` shows it.
        """
        last = self._failed()
        if last is None:
            print("There is no failing case: run a check that fails first.")
            return None
        failed = {
            check.expression
            for check, problem in zip(last.cell.checks, last.problems, strict=True)
            if problem is not None and (check.says is None or check.says.case)
        }
        for small in (True, False):
            for check, inputs, seed in _lines(last, small):
                if check.expression in failed and (case := _case(last, check, inputs, seed, small)):
                    return case
        print("The author of this check shows no case for it.")
        return None

    def hint(self) -> None:
        """Print the next hint about a check that failed."""
        failed = self._failed()
        if failed is None:
            print("There is nothing to hint at: run a check that fails first.")
            return
        hints = failed.hints
        if not hints:
            print("There is no hint beyond what the check says.")
            return
        number = min(self._said, len(hints) - 1)
        print(f"Hint {number + 1} of {len(hints)}. {hints[number]}")
        self._said = number + 1

    def discuss(self) -> None:
        """Print two other ways for the task that was passed last."""
        done = [
            (max(order.index(cell) for cell in cells), answer)
            for order in [list(self._passed)]
            for answer, cells in self.tasks.items()
            if answer in self.ways and all(cell in order for cell in cells)
        ]
        if not done:
            print("Pass all checks of a task first; then other ways to solve it are shown here.")
            return
        _, answer = max(done)
        print(f"Other ways to write `{answer}`")
        for way in self.ways[answer]:
            code = "\n    ".join(way.fragment.strip("\n").split("\n"))
            print(f"\n{way.words}\n\n    {code}\n\nWhat it costs: {way.cost}")


def _lines(last: Outcome, small: bool) -> Iterable[tuple[Check, dict[str, Any], int]]:
    draw = Draw(last.seed, small=small)
    try:
        for check, inputs in checks_with_inputs(last.cell, draw):
            yield check, inputs, draw.parameter_seed
    except Exception:
        # not every cell can be drawn small; the build has noted for which lines it can
        if not small:
            raise


def _case(
    last: Outcome, check: Check, inputs: dict[str, Any], seed: int, small: bool
) -> Case | None:
    """The case of a line; None if the answer is right on it, or what is right there isn't known."""
    answer = last.answers[check.expression]
    wanted = answer.get("small") if small else answer
    if wanted is None:
        return None
    given = last.definitions, copy.deepcopy(inputs), seed, last.cell.forbidden, check.megabytes
    found = Evaluation.read(evaluate(check.code, *given))
    expected = Expected.read(wanted)
    problem = judge(expected, found)
    if problem is None:
        return None
    problem = with_names(problem, check, inputs)
    used = {n.id for n in ast.walk(ast.parse(check.call)) if isinstance(n, ast.Name)}
    failed = isinstance(found.value, Error)
    place = () if failed else problem.place
    return Case(
        **{name: value for name, value in inputs.items() if name in used},
        check=title(check),
        code=shown(check.code),
        expected=restore(value_at(expected.value, place)),
        yours=sentence(problem) if failed else restore(value_at(found.value, place)),
        **({} if failed else {"difference": sentence(problem)}),
    )
