"""Answers changed in one place at a time, as nobody has written them down.

At each node of a syntax tree in turn: another operator or comparison, a neighbouring number, an argument
left out or exchanged, a statement deleted, a condition that always or never holds, a slice that is longer
or shorter.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autograder.edits import edited
from autograder.programs import without_docstrings
from autograder.rules import Rule
from autograder.splices import EditError

OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
# what these hold is no value: annotations, and whether a name is read or written
NO_VALUES = ("annotation", "returns", "ctx")


@dataclass(frozen=True)
class Mutation:
    """A program that differs from another in one place. text: without docstrings and comments.

    places: what differs, before and after, from the smallest part to the whole.
    """

    text: str
    places: tuple[tuple[ast.AST, ast.AST], ...]

    def rule(self, source: str) -> Rule | None:
        """The shortest rule that makes the change in a source; None where none makes just this one."""
        for before, after in self.places:
            if not isinstance(before, ast.expr | ast.stmt):
                continue
            rule = Rule(ast.unparse(before), ast.unparse(after))
            with contextlib.suppress(EditError):
                if rule.is_readable and code(edited(source, [rule])) == self.text:
                    return rule
        return None


def code(source: str) -> str:
    """A program without docstrings and comments, in the layout of `ast.unparse`."""
    return ast.unparse(without_docstrings(ast.parse(source)))


def mutations(source: str) -> Iterator[Mutation]:
    """Every program that differs from a source in one place."""
    tree = without_docstrings(ast.parse(source))
    seen = {ast.unparse(tree)}
    for steps, node in _nodes(tree, ()):
        for other in _others(node):
            changed = ast.fix_missing_locations(_replaced(tree, steps, other))
            text = ast.unparse(changed)
            if text not in seen and _is_program(text):
                seen.add(text)
                ways = zip(_along(tree, steps), _along(changed, steps), strict=True)
                yield Mutation(text, tuple(ways)[::-1])


def _along(node: Any, steps: tuple) -> Iterator[ast.AST]:
    """The nodes to which some steps lead, from the whole to the smallest part."""
    yield node
    for field, place in steps:
        node = getattr(node, field) if place is None else getattr(node, field)[place]
        yield node


def _is_program(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _nodes(node: ast.AST, steps: tuple) -> Iterator[tuple[tuple, ast.AST]]:
    """All nodes below a node, each with the steps that lead to it: (field, place in a list or None)."""
    for field, value in ast.iter_fields(node):
        if field in NO_VALUES:
            continue
        places = enumerate(value) if isinstance(value, list) else [(None, value)]
        for place, child in places:
            if isinstance(child, ast.AST):
                path = (*steps, (field, place))
                yield path, child
                yield from _nodes(child, path)


def _replaced(tree: ast.Module, steps: tuple, other: ast.AST) -> ast.Module:
    tree = copy.deepcopy(tree)
    *_, node = _along(tree, steps[:-1])
    field, place = steps[-1]
    if place is None:
        setattr(node, field, other)
    else:
        getattr(node, field)[place] = other
    return tree


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    other = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node's place, one at a time."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in OPERATORS:
                yield _with(node, op=OPERATORS[type(op)]())
            yield from (left, right)
        case ast.Compare(ops=[op]):
            yield from (_with(node, ops=[other()]) for other in COMPARISONS.get(type(op), ()))
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            yield from values
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1) if value else ast.UnaryOp(ast.USub(), ast.Constant(1))
        case ast.Constant(value=float(value)):
            yield ast.Constant(1.2 * value + 0.01)
        case ast.Call():
            yield from _other_calls(node)
        case ast.Slice():
            yield from _other_slices(node)
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.If():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.AugAssign(target=target, value=value):
            yield from (ast.Pass(), ast.Assign([target], value))
        case ast.Assign() | ast.Expr() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    for place in range(len(node.keywords)):
        yield _with(node, keywords=node.keywords[:place] + node.keywords[place + 1 :])
    plain = [given for given in node.args if not isinstance(given, ast.Starred)]
    if len(plain) == len(node.args) >= 2:
        yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
        yield _with(node, args=node.args[:-1])
    if isinstance(node.func, ast.Attribute):
        yield node.func.value
    if plain:
        yield plain[0]


def _other_slices(node: ast.Slice) -> Iterator[ast.AST]:
    for part in ("lower", "upper", "step"):
        if getattr(node, part) is not None:
            yield _with(node, **{part: None})
    if node.lower is None:
        yield _with(node, lower=ast.Constant(1))
    if node.upper is None:
        yield _with(node, upper=ast.UnaryOp(ast.USub(), ast.Constant(1)))


class OutOfTime(BaseException):
    """A changed answer takes too long. No Exception, so that it is not the answer's own error."""


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """End what runs after some seconds with OutOfTime."""

    def end(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
