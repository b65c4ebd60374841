"""Syntax trees of programs with holes: `$X` in a text is a name in its tree, and fits any expression."""

from __future__ import annotations

import ast
import functools
import re

HOLE = re.compile(r"\$([A-Z]\w*)")
# a hole as a name that Python accepts; nobody calls a variable so
PLACE = re.compile(r"HOLE_([A-Z]\w*)_ELOH")
# fields of syntax trees that don't matter for what a program does
UNCOMPARED = {"ctx", "kind", "type_comment", "type_params"}


# a catalogue changes the same few programs hundreds of times
@functools.lru_cache(maxsize=64)
def tree_of(program: str) -> ast.Module:
    """A program's tree, which nobody may change. Raises SyntaxError."""
    return ast.parse(program)


def with_places(text: str) -> str:
    """A text with names in place of its holes."""
    return HOLE.sub(r"HOLE_\1_ELOH", text)


def same_tree(one: object, other: object, bound: dict[str, ast.expr] | None = None) -> bool:
    """Whether two parts of syntax trees say the same; with bound, the first one may have holes.

    bound: what the holes stand for, by their names; filled in.
    """
    if bound is not None and isinstance(one, ast.Name) and (hole := PLACE.fullmatch(one.id)):
        if not isinstance(other, ast.expr):
            return False
        return same_tree(bound.setdefault(hole[1], other), other)
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return all(
            same_tree(getattr(one, name, None), getattr(other, name, None), bound)
            for name in one._fields
            if name not in UNCOMPARED
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            same_tree(a, b, bound) for a, b in zip(one, other, strict=True)
        )
    return one == other
