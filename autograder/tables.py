"""CSV files that a spreadsheet program shows as they are, and takes nothing in for a formula."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from autograder.errors import writing


def safe(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula: an apostrophe before what begins like one.

    The beginnings are those of OWASP's page on CSV injection, full-width forms included, also behind
    white space. Numbers stay numbers.
    """
    if not isinstance(cell, str):
        return cell
    first = unicodedata.normalize("NFKC", cell.strip()[:1])
    return f"'{cell}" if cell[:1] in ("\t", "\r", "\n") or first in ("=", "+", "-", "@") else cell


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file in UTF-8: cells quoted where needed, none of them a formula.

    Its folder is made. Raises OutputError when the file can't be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([safe(cell) for cell in row] for row in [head, *rows])
