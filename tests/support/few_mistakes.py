"""Catalogues with a sample of their mistakes: an answer key is evaluated with a sixth of the work.

All mistakes of all cells on all draws are a product of cases, which `make audit` and `-m weekly` go through.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from autograder.catalogue_file import read_catalogue

# of the mistakes that a cell is meant to catch, and those that tests hand in
EVERY = 6
HANDED_IN = {
    "no maximum subtracted",
    "axis ignored, always the last",
    "no scaling",
    "mask ignored",
}


def _left_out(text: str) -> set[int]:
    """The numbers of the lines where the mistakes begin that are left out."""
    counted: Counter[str] = Counter()
    kept: set[str] = set()
    lines = set()
    for mistake in read_catalogue(text, "").mistakes.values():
        number = counted[mistake.cell]
        others = {mistake.like, mistake.start.name if mistake.start else ""} - {""}
        if mistake.name in HANDED_IN or (number % EVERY == 0 and others <= kept):
            kept.add(mistake.name)
        else:
            lines.add(mistake.line)
        counted[mistake.cell] += 1
    return lines


def sampled(text: str) -> str:
    """A catalogue's text without the mistakes that are left out."""
    left_out, fenced, kept, lines = _left_out(text), False, True, []
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.startswith("```")
        if not fenced and re.match("#{1,2} ", line):
            kept = number not in left_out
        if kept:
            lines.append(line)
    return "\n".join(lines)


def leave_out_mistakes(root: Path) -> None:
    """Let the catalogues of a copy of this course have a sample of their mistakes."""
    for path in (root / "solutions" / "catalogue").glob("ch*.md"):
        path.write_text(sampled(path.read_text(encoding="utf-8")), encoding="utf-8")
