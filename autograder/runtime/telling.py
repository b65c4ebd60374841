"""A difference as it is told: related to the right value, with named parts, without added constants."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .compare import Difference, Expected, difference, summary
from .evaluate import Evaluation
from .functions import behind, returned
from .grade_cell import Check
from .helpers import NO_GRADIENT
from .messages import describe
from .offsets import added_constant, part_of
from .parts import with_names
from .plain_data import Array, Dictionary, Items, Number, Text, Value
from .relations import OPEN, related, value_at

# differences that only this module tells
TOLD = ("changed", "no_gradient")
# of a list that is shown
MAX_SHOWN = 20
# differences in which a gradient of the right form may be missing
NO_GRADIENT_OPEN = OPEN - {"shape", "dtype", "length"}
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
    elif _lacks_gradient(problem, check, got, offset):
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
        problem = replace(problem, parameters={**problem.parameters, "example": example})
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


def _lacks_gradient(problem: Difference, check: Check, got: Evaluation, offset: float) -> bool:
    """Whether a gradient is asked for at a difference's place, and there is none or only zeros."""
    if "gradients(" not in check.code or problem.aspect not in NO_GRADIENT_OPEN:
        return False
    node = returned(check.code)
    for step in problem.place:
        node = part_of(node, step) or node
    if "gradients(" not in behind(check.code, node):
        return False
    match value_at(got.value, problem.place):
        case Text(text):
            return text == NO_GRADIENT
        case Array(values=values):
            return values.size > 0 and values.dtype.kind == "f" and bool((values == offset).all())
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
