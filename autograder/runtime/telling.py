"""A difference as it is told: related to the right value, with named parts, without added constants."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .compare import Difference, Expected, difference, summary
from .evaluate import Evaluation
from .grade_cell import Check
from .helpers import NO_GRADIENT
from .messages import describe
from .parts import with_names
from .plain_data import Array, Items, Number, Text, Value
from .relations import OPEN, related, value_at

# differences that only this module tells
TOLD = ("changed", "no_gradient")
# of a list that is shown
MAX_SHOWN = 20
# differences in which a gradient of the right form may be missing
NO_GRADIENT_OPEN = OPEN - {"shape", "dtype", "length"}
# of parts that may be told to be right
MAX_BESIDE = 5


def told(
    problem: Difference,
    check: Check,
    inputs: Mapping[str, Any],
    expected: Expected,
    got: Evaluation,
) -> Difference:
    """What is said about a line that failed. inputs: the drawn ones, as nobody has changed them."""
    offset = added_constant(check.expression, problem.place)
    if check.expression.startswith("inputs_after(") and _is_argument(problem, expected.value):
        problem = Difference("changed", {}, problem.place)
    elif _lacks_gradient(problem, check, got, offset):
        problem = Difference("no_gradient", {}, problem.place)
    elif expected.share is None:
        problem = related(problem, expected.value, got.value, offset)
    elif problem.aspect == "agreement" and check.agreement and check.agreement.sources in inputs:
        number = problem.parameters["number"] - 1
        example = {
            "source": inputs[check.agreement.sources][number],
            "expected": plain_list(expected.value.items[number]),
            "got": plain_list(got.value.items[number]),
        }
        problem = replace(problem, parameters={**problem.parameters, "example": example})
    if right := _right_beside(problem, check, expected.value, got.value):
        problem = replace(problem, parameters={**problem.parameters, "right_beside": right})
    return with_names(_without(problem, offset), check, inputs)


def _is_argument(problem: Difference, expected: Value) -> bool:
    """Whether a difference lies in an argument of `inputs_after(...)`, whose last part is the result."""
    match problem.place[:1]:
        case (("part", number, *_),):
            return isinstance(expected, Items) and number < len(expected.items)
    return False


def _lacks_gradient(problem: Difference, check: Check, got: Evaluation, offset: float) -> bool:
    """Whether a gradient is asked for at a difference's place, and there is none or only zeros."""
    if "gradients(" not in check.expression or problem.aspect not in NO_GRADIENT_OPEN:
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
        if step[0] != "part":
            expected, got, beside = expected.items[step[1]], got.items[step[1]], []
            continue
        names = levels[depth] if depth < len(levels) else None
        pairs = list(zip(expected.items, got.items, strict=True))
        expected, got = pairs.pop(step[1] - 1)
        depth, beside = depth + 1, []
        few = isinstance(names, tuple) and len(pairs) < MAX_BESIDE
        if few and all(difference(*pair) is None for pair in pairs):
            beside = [name for n, name in enumerate(names, start=1) if n != step[1]]
    return beside


def plain_list(value: Value) -> list | str:
    """A list of plain numbers and texts as JSON; of anything else what it is."""
    items = value.items[:MAX_SHOWN] if isinstance(value, Items) else ()
    if items and all(isinstance(item, Number | Text) for item in items):
        return [item.value for item in items]
    return [] if isinstance(value, Items) and not value.items else describe(summary(value))


def added_constant(expression: str, place: tuple[tuple[str | int, ...], ...] = ()) -> float:
    """The constant of an expression `100 + f(x)`: a line adds one so that zeros are no right answer.

    place: the part of the value that is meant; in `[100 + f(x) for x in xs]` every part has the
    constant.
    """
    node: ast.expr | None = ast.parse(expression, mode="eval").body
    for step in place:
        constant, node = _split(node)
        if constant:
            return constant
        node = _part(node, step)
        if node is None:
            return 0
    return _split(node)[0]


def _split(node: ast.expr) -> tuple[float, ast.expr]:
    """The constant that a sum adds, and the rest of it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for constant, rest in ((node.left, node.right), (node.right, node.left)):
            if isinstance(constant, ast.Constant) and isinstance(constant.value, int | float):
                return constant.value, rest
    return 0, node


def _part(node: ast.expr, step: tuple[str | int, ...]) -> ast.expr | None:
    match node:
        case ast.ListComp(elt=item) if step[0] == "part":
            return item
        case ast.DictComp(value=item) if step[0] == "key":
            return item
        case ast.List(elts=items) | ast.Tuple(elts=items) if step[0] == "part":
            plain = not any(isinstance(item, ast.Starred) for item in items)
            return items[step[1] - 1] if plain and step[1] <= len(items) else None
    return None


def _without(problem: Difference, offset: float) -> Difference:
    numbers = {
        key: value - offset
        for key, value in problem.parameters.items()
        if key in ("expected", "got") and type(value) is float
    }
    return replace(problem, parameters={**problem.parameters, **numbers}) if offset else problem
