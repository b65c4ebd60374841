"""CSV files: read as spreadsheet programs write them, written so that nothing is taken for a formula."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autograder.errors import TableError, writing


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


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a CSV file in UTF-8, with commas or semicolons; rows are as long as the head.

    Raises TableError when it can't be read.
    """
    head, rows = _read(path)
    return head, [row for _, row in rows]


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file that has certain columns, each with the number of its line.

    Cells are stripped; columns of other names are there, too. Raises TableError.
    """
    head, rows = _read(path)
    if missing := [name for name in columns if name not in head]:
        raise TableError(
            f"{path} has no column {' and no column '.join(missing)}. Its first line must name the columns: "
            f"{','.join(columns)}."
        )
    for number, row in rows:
        yield number, {name: cell.strip() for name, cell in zip(head, row, strict=False)}


def _read(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        first = text.partition("\n")[0]
        mark = ";" if first.count(";") > first.count(",") else ","
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path} can't be read as a CSV file in UTF-8: {error}.") from error
    if not rows:
        raise TableError(f"{path} is empty.")
    head = [name.strip() for name in rows[0][1]]
    return head, [(number, row + [""] * (len(head) - len(row))) for number, row in rows[1:]]
