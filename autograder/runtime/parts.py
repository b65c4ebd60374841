"""What the parts of a line's value are called: "weights", "step 7".

An author names them with `says("...", parts=...)` above the line. A list names each part:
`parts=["output", "weights"]`. A text is a template for the parts of a list comprehension, with its loop
variables in braces: `parts="step {step}"` above `[noam_rate(step, width) for step in steps]`. A tuple
has one of these for each level of nesting, from the outside in, None for a level without names.
Entries of dictionaries go by their keys and are no level.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .compare import Difference, Step
from .evaluate import compiled
from .functions import returned
from .grade_cell import Check
from .plain_data import Dictionary, Items, Value
from .tensors import libraries

MAX_NAME = 60


def _without_offset(node: ast.expr) -> ast.expr:
    """`f(x)` of an expression `100 + f(x)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if isinstance(node.left, ast.Constant):
            return node.right
        if isinstance(node.right, ast.Constant):
            return node.left
    return node


def _names(code: str, template: str, depth: int) -> str:
    """An expression for the nested list of names that a template gives to parts at this depth, from 1.

    ValueError when what the line returns isn't made of as many list comprehensions.
    """
    loops = []
    node = returned(code)
    for _ in range(depth):
        node = _without_offset(node)
        if not isinstance(node, ast.ListComp):
            raise ValueError(
                f"parts={template!r} needs a list comprehension, and `{ast.unparse(node)}` is none"
            )
        loops.append(node.generators)
        node = node.elt
    made = ast.parse(f"f{template!r}", mode="eval").body
    for generators in reversed(loops):
        made = ast.ListComp(made, generators)
    return ast.unparse(made)


def part_name(check: Check, inputs: Mapping[str, Any], positions: tuple[int, ...]) -> str | None:
    """What the part of a line's value at these positions, from 0, is called; None when it has no name.

    inputs: the drawn ones. ValueError when the author's parts don't fit; the build refuses such a line.
    """
    levels = check.says.parts if check.says else ()
    level = levels[len(positions) - 1] if len(positions) <= len(levels) else None
    if level is None:
        return None
    try:
        if isinstance(level, tuple):
            return level[positions[-1]]
        scope = {**inputs, **libraries(), "__builtins__": builtins}
        found = eval(compiled(_names(check.code, level, len(positions)), "eval"), scope)
        for position in positions:
            found = found[position]
        return found[:MAX_NAME]
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"parts={level!r} raised {type(error).__name__}: {error}") from error


def with_names(problem: Difference, check: Check, inputs: Mapping[str, Any]) -> Difference:
    """A difference whose place says what the parts are called: ["part", number, of how many, name]."""
    if check.says is None or not check.says.parts:
        return problem
    steps: list[Step] = []
    positions: tuple[int, ...] = ()
    for step in problem.place or [("part", n + 1) for n in problem.parameters.get("part", ())]:
        if step[0] == "part":
            positions = (*positions, step[1] - 1)
            if name := part_name(check, inputs, positions):
                step = ("part", step[1], step[-1], name)
        steps.append(step)
    # which part an exception came in is told by names alone
    parameters = {name: value for name, value in problem.parameters.items() if name != "part"}
    place = tuple(step for step in steps if len(step) > 2 or step[0] == "key")
    return replace(problem, place=place, parameters=parameters)


def check_parts(check: Check, inputs: Mapping[str, Any], value: Value) -> None:
    """Raise ValueError when a line's parts don't fit its value; inputs: the drawn ones."""
    levels = check.says.parts if check.says else ()

    def walk(value: Value, positions: tuple[int, ...]) -> None:
        if isinstance(value, Dictionary):
            for item in value.items.values():
                walk(item, positions)
        elif isinstance(value, Items) and len(positions) < len(levels):
            level = levels[len(positions)]
            if isinstance(level, tuple) and len(level) != len(value.items):
                raise ValueError(
                    f"parts={list(level)} are {len(level)} names for {len(value.items)} parts"
                )
            for number, item in enumerate(value.items):
                part_name(check, inputs, (*positions, number))
                walk(item, (*positions, number))

    walk(value, ())
