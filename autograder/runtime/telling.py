"""A difference as it is told: related to the right value, with named parts, without added constants."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .compare import Difference, Expected, difference, summary
from .evaluate import Evaluation
from .functions import returned
from .grade_cell import Check
from .helpers import NO_GRADIENT
from .messages import describe
from .offsets import added_constant
from .parts import with_names
from .plain_data import Array, Dictionary, Items, Number, Text, Value
from .relations import related, value_at

# of a list that is shown
MAX_SHOWN = 20
# what the statement of `fit` leaves for padding, BOS and EOS
SPECIAL = (0, 1, 2)
# of parts that may be told to be right
MAX_BESIDE = 5


def refined(
    problem: Difference,
    check: Check,
    inputs: Mapping[str, Any],
    expected: Expected,
    got: Evaluation,
) -> Difference:
    """What is said about a line that failed. inputs: the drawn ones, as nobody has changed them."""
    offset = added_constant(check.code, problem.place)
    gives_arguments = _gives_arguments(check)
    if gives_arguments and _is_argument(problem, expected.value):
        problem = Difference("changed", {}, problem.place)
    elif _lacks_gradient(value_at(got.value, problem.place)):
        problem = Difference("no_gradient", {}, problem.place)
    elif expected.share is None:
        problem = related(problem, expected.value, got.value, offset)
    elif (
        problem.aspect == "agreement"
        and check.agreement
        and (sources := check.agreement.sources)
        and sources in inputs
    ):
        step = ("part", problem.parameters["number"])
        example = {
            "source": inputs[sources][step[1] - 1],
            "expected": plain_list(value_at(expected.value, (step,))),
            "got": plain_list(value_at(got.value, (step,))),
        }
        told = {"example": example, "usual": _usual(expected.value, got.value)}
        problem = replace(problem, parameters={**problem.parameters, **told})
    if gives_arguments and problem.place and problem.aspect != "changed":
        problem = replace(problem, parameters={**problem.parameters, "aside": True})
    elif right := _right_beside(problem, check, expected.value, got.value):
        problem = replace(problem, parameters={**problem.parameters, "right_beside": right})
    return with_names(_without(problem, offset), check, inputs)


def _gives_arguments(check: Check) -> bool:
    """Whether a line's value is that of `inputs_after(...)`."""
    return ast.unparse(returned(check.code)).startswith("inputs_after(")


def _is_argument(problem: Difference, expected: Value) -> bool:
    """Whether a difference lies in an argument of `inputs_after(...)`, whose last part is the result."""
    match problem.place[:1]:
        case (("part", number, *_),):
            return isinstance(expected, Items) and number < len(expected.items)
    return False


def _lacks_gradient(value: Value) -> bool:
    """Whether a value stands for a gradient that hasn't arrived."""
    match value:
        case Text(text):
            return text == NO_GRADIENT
        case Array(unreached=unreached):
            return unreached
    return False


def _right_beside(problem: Difference, check: Check, expected: Value, got: Value) -> list[str]:
    """The names of the parts beside the one that differs, if all of them are right; else none."""
    levels, depth = check.says.parts if check.says else (), 0
    beside: list[str] = []
    for step in problem.place:
        beside = []
        match expected, got:
            case Dictionary(wanted), Dictionary(found):
                expected, got = wanted[step[1]], found[step[1]]
            case Items(wanted), Items(found):
                names = levels[depth] if depth < len(levels) else None
                pairs = list(zip(wanted, found, strict=True))
                expected, got = pairs.pop(step[1] - 1)
                depth += 1
                if not isinstance(names, tuple) or len(pairs) >= MAX_BESIDE:
                    continue
                if all(difference(*pair) is None for pair in pairs):
                    beside = [name for n, name in enumerate(names, start=1) if n != step[1]]
    return beside


def _usual(expected: Value, got: Value) -> tuple[str, int] | None:
    """What most sentences of a translator show, as a key of `messages.USUAL`, and the token that shows it."""

    def words(value: Value) -> list:
        items = value.items if isinstance(value, Items) else ()
        return [item.value for item in items if isinstance(item, Number)]

    def shown(wanted: list, found: list) -> tuple[str, int] | None:
        begins, rest = found[: len(wanted)] == wanted, found[len(wanted) :]
        if begins and rest and set(rest) == {rest[0]}:
            return "end" if len(rest) == 1 else "padding", rest[0]
        if len(set(found)) == 1 and found[0] in SPECIAL:
            repeated = "padding" if found[0] == 0 else "copies"
            return "only" if len(found) == 1 else repeated, found[0]
        return None

    match expected, got:
        case Items(sentences), Items(others):
            pairs = zip(map(words, sentences), map(words, others), strict=False)
            kind, times = Counter(itertools.starmap(shown, pairs)).most_common(1)[0]
            return kind if times > len(sentences) / 2 else None
    return None


def plain_list(value: Value) -> list | str:
    """A list of plain numbers and texts as JSON; of anything else what it is."""
    items = value.items[:MAX_SHOWN] if isinstance(value, Items) else ()
    plain = [item.value for item in items if isinstance(item, Number | Text)]
    if items and len(plain) == len(items):
        return plain
    return [] if isinstance(value, Items) and not value.items else describe(summary(value))


def _without(problem: Difference, offset: float) -> Difference:
    numbers = {
        key: value - offset
        for key, value in problem.parameters.items()
        if key in ("expected", "got") and type(value) is float
    }
    return replace(problem, parameters={**problem.parameters, **numbers}) if offset else problem
