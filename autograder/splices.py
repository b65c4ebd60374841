"""New text in places of a program, with parentheses where an expression needs them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.syntax_trees import same_tree


class EditError(ValueError):
    """A change that can't be read or made. line: where it stands; 0 where it is none of one line."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Splice:
    """A piece of a program's text, from start to end in bytes, and the new text in its place.

    is_open: the text may need parentheses there.
    """

    start: int
    end: int
    text: bytes
    is_open: bool = False
    line: int = 0


def line_starts(text: bytes) -> list[int]:
    """Where each line begins, and where one behind the last would."""
    return [0, *itertools.accumulate(len(line) + 1 for line in text.split(b"\n"))]


def says_the_same(bare: str, safe: str) -> bool:
    """Whether a text without some parentheses is the same program; without them, if only it is one."""
    with_them, without = _parsed(safe), _parsed(bare)
    return with_them is None or (without is not None and same_tree(with_them, without))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def spliced(text: bytes, splices: Sequence[Splice]) -> bytes:
    """A text with all splices made, new expressions in parentheses where they need them."""

    def joined(bare: set[int]) -> str:
        parts, last = [], 0
        for number, splice in enumerate(splices):
            safe = splice.is_open and number not in bare
            parts += [text[last : splice.start], b"(%b)" % splice.text if safe else splice.text]
            last = splice.end
        return b"".join([*parts, text[last:]]).decode()

    bare = set(range(len(splices)))
    if any(splice.is_open for splice in splices):
        safe = joined(set())
        if not says_the_same(joined(bare), safe):
            bare = {number for number in bare if says_the_same(joined({number}), safe)}
    return joined(bare).encode()
