"""Diffs of a program's lines, which its comments and its spacing play no part in."""

from __future__ import annotations

import functools
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.splices import EditError, Splice, line_starts


@dataclass(frozen=True)
class Hunk:
    """A piece of a diff: lines of a program that stand there exactly once, and what becomes of them.

    lines: each behind `-` (goes), `+` (comes) or a space (stays).
    """

    lines: tuple[str, ...]
    line: int = 0


def read_diff(text: str, line: int = 1) -> list[Hunk]:
    """The hunks of a diff, between lines that begin with `@@`.

    line: the number of the text's first line, for errors. Raises EditError for a line that begins with
    none of `-`, `+` and a space, and for a hunk that changes nothing.
    """
    hunks: list[Hunk] = []
    lines: list[str] = []
    start = line
    for number, one in enumerate([*text.split("\n"), "@@"], line):
        if one.startswith("@@"):
            if not any(known[0] in "-+" for known in lines):
                raise EditError("none of these lines of a diff begins with - or +.", start)
            hunks.append(Hunk(tuple(lines), start))
            lines, start = [], number + 1
        elif one.strip() and one[0] not in "-+ ":
            raise EditError(f"`{one}`: a line of a diff begins with -, + or a space.", number)
        elif one.strip():
            lines.append(one)
    return hunks


@functools.lru_cache(maxsize=4096)
def _code(line: str) -> tuple[str, ...]:
    """The tokens of a line of code, without its comment; an empty line has none."""
    found, line = [], line.strip()
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            found += [] if token.type == tokenize.COMMENT else [token.string.strip()]
    except (tokenize.TokenError, SyntaxError):
        # an open bracket ends so, and a line of a longer text has no tokens
        found = found or [line]
    return tuple(token for token in found if token)


def hunk_splices(program: str, hunk: Hunk) -> list[Splice]:
    lines = program.split("\n")
    code = [(number, _code(line)) for number, line in enumerate(lines) if _code(line)]
    old = [line for line in hunk.lines if line[0] != "+"]
    wanted = [_code(line[1:]) for line in old]
    places = [
        start
        for start in range(len(code) - len(old) + 1)
        if [tokens for _, tokens in code[start : start + len(old)]] == wanted
    ]
    if len(places) != 1 or not old:
        shown = "\n".join(line[1:] for line in old)
        how_often = f"occur {len(places)} times" if places else "don't occur"
        raise EditError(
            f"These lines of the diff {how_often}; they have to occur exactly once:\n{shown}",
            hunk.line,
        )
    return list(_changed_lines(lines, [n for n, _ in code[places[0] :][: len(old)]], hunk))


def _changed_lines(lines: Sequence[str], numbers: Sequence[int], hunk: Hunk) -> Iterator[Splice]:
    """The splices of a hunk whose old lines are those with the given numbers."""
    starts = line_starts("\n".join(lines).encode())
    first = next(line for line in hunk.lines if line[0] != "+")
    moved = _indent(lines[numbers[0]]) - _indent(first[1:])
    done, place = 0, starts[numbers[0]]
    while done < len(hunk.lines):
        sign = hunk.lines[done][:1]
        if sign == " ":
            place, numbers = starts[numbers[0] + 1], numbers[1:]
            done += 1
            continue
        old, new = 0, []
        while done < len(hunk.lines) and hunk.lines[done][:1] in ("-", "+"):
            line = hunk.lines[done]
            if line[0] == "+":
                new.append(_moved(line[1:], moved))
            else:
                old += 1
            done += 1
        start = starts[numbers[0]] if old else place
        end = starts[numbers[old - 1] + 1] if old else place
        numbers, place = numbers[old:], end
        text = "".join(f"{line}\n" for line in new)
        # the last line of a program has no end
        total = starts[-1] - 1
        if end > total:
            text, end = text.removesuffix("\n"), total
        if start > total:
            text, start = "\n" + text, total
        yield Splice(start, end, text.encode(), line=hunk.line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _moved(line: str, columns: int) -> str:
    """A line further to the right, or to the left."""
    if not line.strip():
        return ""
    return " " * columns + line if columns >= 0 else line[min(-columns, _indent(line)) :]
