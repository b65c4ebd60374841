"""CSV files: read as spreadsheet programs write them, written so that nothing is taken for a formula.

Every table that comes in is read here, whoever has written it. In both directions control characters,
which could act on a terminal, are replaced; a line break within a cell is none.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autograder.errors import TableError, writing
from autograder.files import PRIVATE

# what may stand between cells, the usual one first, and Excel's line that says which it is
MARKS = (",", ";", "\t")
# beside tabs and line breaks
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
REPLACEMENT = "\ufffd"
# Where a program may begin another cell within one that is written: it may take another mark for the one
# between cells, and where it doesn't see that a cell is quoted, a line break begins a row. A list's "- " stays.
WITHIN = re.compile(r"([;\t]\s*)(?=[=+\-@＝＋－＠])|([\r\n]\s*)(?=[=+@＝＋＠]|[-－](?!\s))")
# how other programs call our columns, in lower case
USUAL = {
    "id": (
        "student id",
        "student_id",
        "user id",
        "username",
        "user name",
        "id number",
        "login id",
        "sis login id",
        "student number",
        "sid",
    ),
    "first_name": ("first name", "firstname", "given name", "forename"),
    "last_name": ("last name", "lastname", "surname", "family name"),
    "email": ("e-mail", "email address", "e-mail address", "mail"),
    "group": ("group name", "group_name"),
    "github": ("github_username", "github username", "github name"),
}
# how the files of spreadsheet programs begin; some systems give a page of HTML its name
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"<")
# a cell that a program has written so that it stays text
KEPT_TEXT = re.compile(r'="(.*)"')
SEPARATOR = re.compile(r"sep=([,;\t])", re.IGNORECASE)


def safe(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula: an apostrophe before what begins like one.

    The beginnings are those of OWASP's page on CSV injection, full-width forms included, also behind
    white space, and within a cell behind what separates cells elsewhere. Numbers stay numbers, and control
    characters are replaced.
    """
    if not isinstance(cell, str):
        return cell
    cell = CONTROL.sub(REPLACEMENT, cell)
    if cell == "-":
        # no formula: Moodle writes it where there is nothing
        return cell
    text = cell.lstrip()
    cell = cell[: len(cell) - len(text)] + WITHIN.sub(r"\g<0>'", text)
    first = unicodedata.normalize("NFKC", text[:1])
    return f"'{cell}" if cell[:1] in ("\t", "\r", "\n") or first in ("=", "+", "-", "@") else cell


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file in UTF-8: cells quoted where needed, none of them a formula.

    It tells of students, so a new one is for its owner alone. Its folder is made. Raises OutputError when the file
    can't be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        with os.fdopen(descriptor, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([safe(cell) for cell in row] for row in [head, *rows])


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a CSV file, with commas, semicolons or tabs; rows are as long as the head.

    Raises TableError when it can't be read.
    """
    head, rows = _read(path)
    return head, [row for _, row in rows]


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file that has certain columns, each with the number of its line.

    Cells are stripped; columns of other names are there, too. A column may be in capitals or have another
    program's usual name. Raises TableError.
    """
    head, rows = _read(path)
    head = _own_names(head)
    if missing := [name for name in columns if name not in head]:
        raise TableError(
            f"{path} has no column {' and no column '.join(missing)}. Its first line must name the columns: "
            f"{','.join(columns)}."
        )
    if double := [name for name in dict.fromkeys(head) if name and head.count(name) > 1]:
        raise TableError(f"{path}, line 1: there are two columns {double[0]}. Keep one of them.")
    for number, row in rows:
        yield number, {name: cell.strip() for name, cell in zip(head, row, strict=False)}


def _own_names(head: Sequence[str]) -> list[str]:
    """The names of columns as this course has them, where there is one of that name or of a usual one."""
    found = [name.casefold() if name.casefold() in USUAL else name for name in head]
    for own, others in USUAL.items():
        places = [i for other in others for i, n in enumerate(found) if n.casefold() == other]
        if own not in found and places:
            found[places[0]] = own
    return found


def decoded(path: Path) -> tuple[str, str]:
    """The text of a file and its encoding: UTF-8 or UTF-16 if it says so, else UTF-8, else cp1252.

    So spreadsheet programs write tables, the last one in Western Europe and America. Raises TableError.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TableError(f"{path} can't be read: {error.strerror}.") from error
    if content.startswith(WORKBOOKS):
        raise TableError(
            f"{path} is a spreadsheet program's own file, not a table as text. Save it there as CSV UTF-8."
        )
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    else:
        encodings = ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(encoding).lstrip("\ufeff")
            if "\0" not in text:
                return text, encoding
    raise TableError(
        f"{path} can't be read as a CSV file: it is in none of the encodings UTF-8, UTF-16 and cp1252. Save it "
        "again as CSV UTF-8."
    )


def _read(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    text, _ = decoded(path)
    text = CONTROL.sub(REPLACEMENT, text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_mark(text), strict=True)
    rows: list[tuple[int, list[str]]] = []
    before = 0
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((reader.line_num, [KEPT_TEXT.sub(r"\1", cell) for cell in row]))
            before = reader.line_num
    except csv.Error as error:
        raise TableError(
            f"{path} can't be read as a CSV file: {error}, in the row that begins in line {before + 1}. If a quote "
            "stands there alone, remove it or double it."
        ) from error
    if rows and SEPARATOR.fullmatch(text.splitlines()[0]):
        del rows[0]
    if not rows:
        raise TableError(f"{path} is empty.")
    head = [name.strip() for name in rows[0][1]]
    for number, row in rows:
        if any(cell.strip() for cell in row[len(head) :]):
            raise TableError(
                f"{path}, line {number}: there are more cells than columns. If a cell has {_mark(text)!r} in it, the "
                "cell must begin and end with a double quote."
            )
    return head, [(number, row + [""] * (len(head) - len(row))) for number, row in rows[1:]]


def _mark(text: str) -> str:
    """What stands between cells: as the first line says or, if it says nothing, what it has most of."""
    first = text.split("\n", 1)[0].rstrip("\r")
    if said := SEPARATOR.fullmatch(first):
        return said[1]
    return max(MARKS, key=first.count)
