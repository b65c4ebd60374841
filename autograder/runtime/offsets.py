"""The constant of an expression `100 + f(x)`: a line adds one to compare digits after the point."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .functions import returned


def adds(code: str) -> bool:
    """Whether a line adds a constant to a part of its value."""
    return any(map(_constant, _outside_calls(returned(code))))


def _outside_calls(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, but for the arguments of calls and what loops run over."""
    yield node
    if not isinstance(node, ast.Call | ast.comprehension):
        for child in ast.iter_child_nodes(node):
            yield from _outside_calls(child)


def parsed(code: str) -> ast.expr | None:
    """A line's expression for `part_of` and `constant_of`; None for an empty one."""
    return returned(code) if code else None


def added_constant(code: str, place: tuple[tuple[Any, ...], ...] = ()) -> float:
    """The constant that a line adds to a part of its value.

    place: the part that is meant; in `[100 + f(x) for x in xs]` every part has the constant.
    """
    node: ast.expr | None = returned(code)
    for step in place:
        node = part_of(node, step)
    return constant_of(node)


def constant_of(node: ast.expr | None) -> float:
    """The constant that a sum adds; 0 where there is none."""
    return _constant(node) if node else 0


def part_of(node: ast.expr | None, step: tuple[Any, ...]) -> ast.expr | None:
    """The expression of a part of an expression's value; None where it is not written out."""
    if constant_of(node):
        # of `100 + f(x)` every part has the constant
        return node
    if isinstance(node, ast.Subscript):
        # the only element of `[... for x in [y]][0]`
        node = part_of(node.value, ("part", 1))
    match node:
        case ast.ListComp(elt=item) if step[0] == "part":
            return item
        case ast.DictComp(value=item) if step[0] == "key":
            return item
        case ast.List(elts=items) | ast.Tuple(elts=items) if step[0] == "part":
            plain = not any(isinstance(item, ast.Starred) for item in items)
            return items[step[1] - 1] if plain and step[1] <= len(items) else None
    return None


def _constant(node: ast.AST) -> float:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and isinstance(side.value, int | float):
                return side.value
    return 0
