"""Reading what a student has handed in: nothing that lies there is followed, trusted or too large.

In: a course, a student, an exercise. Out: a submission as plain data, all of whose text is valid
Unicode, with remarks on what could not be read.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.course import Course, Exercise
from autograder.grade.result import Remark
from autograder.nbgrader_adapter import timestamp
from autograder.runtime.plain_data import valid_text

MAX_NOTEBOOK = 20_000_000
MAX_SOURCE = 100_000
MAX_SOURCES = 1_000_000
MAX_CELLS = 2_000
MAX_COMPANIONS = 20
MAX_COMPANION = 5_000_000
MAX_FILES = 10_000
MAX_NAMED = 3
MAX_PICTURE = 2_000_000
MAX_PICTURES = 10_000_000
# a picture in Markdown itself, as Colab stores what is pasted
PASTED = re.compile(r"data:(image/(?:png|jpeg));base64,([A-Za-z0-9+/=]*)")
# how the files of each kind begin
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
# written by nbgrader, not by the student
OF_THE_EXCHANGE = {"timestamp.txt", "submission_secret.txt"}


@dataclass(frozen=True)
class SubmittedCell:
    """A cell as it was handed in.

    kind: "code" or "markdown"; pictures: pasted into it, as nbformat's attachments.
    """

    kind: str
    source: str
    grade_id: str | None = None
    id: str | None = None
    pictures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Submission:
    """A submission as plain data.

    remarks: what was wrong with it; digest: of the notebook and the files beside it; companions: these
    files, by name.
    """

    student: str
    cells: tuple[SubmittedCell, ...] = ()
    remarks: tuple[Remark, ...] = ()
    digest: str = ""
    companions: Mapping[str, bytes] = field(default_factory=dict)


class NotReadError(Exception):
    """A file that is not read, with the remark for its author."""

    def __init__(self, kind: str, **parameters: Any) -> None:
        super().__init__(kind)
        self.remark = Remark(kind, parameters)


def ordinary_content(path: Path, limit: int, what: str) -> bytes:
    """The bytes of an ordinary file of at most limit bytes, also if it is being changed meanwhile.

    Raises NotReadError; what: how its remark calls the file.
    """
    try:
        # not blocking: a pipe would wait for a writer
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        raise NotReadError("not_submitted", what=what, name=valid_text(path.name)) from None
    except OSError as error:
        if path.is_symlink():
            raise NotReadError("is_link", what=what) from None
        if path.exists() and not path.is_file():
            raise NotReadError("not_a_file", what=what) from None
        raise NotReadError("unreadable", what=what, reason=error.strerror) from None
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        raise NotReadError("not_a_file", what=what)
    with os.fdopen(file, "rb") as opened:
        content = opened.read(limit + 1)
    if len(content) > limit:
        raise NotReadError(
            "too_large", what=what, megabytes=max(status.st_size, len(content)) / 1e6
        )
    return content


def students(course: Course, exercise: Exercise) -> list[str]:
    """The students who have a folder for an exercise, in order."""
    if not course.submitted.is_dir():
        return []
    return sorted(
        entry.name
        for entry in course.submitted.iterdir()
        if not entry.name.startswith(".") and os.path.lexists(entry / exercise.name)
    )


def find_notebook(path: Path) -> Path:
    """The notebook of a submission: the one of the exercise's name, or the only one there is."""
    others = sorted(path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
    return others[0] if not os.path.lexists(path) and len(others) == 1 else path


def read_submission(course: Course, student: str, exercise: Exercise) -> Submission:
    """What a student has handed in to a class; see `read_folder`."""
    folder = course.submitted / student / exercise.name
    remarks = []
    try:
        timestamp(folder)
    except ValueError:
        remarks.append(Remark("timestamp"))
    return read_folder(folder, student, exercise.name, remarks)


def read_folder(
    folder: Path, student: str, exercise: str, also: Sequence[Remark] = ()
) -> Submission:
    """What a student has handed in, in a folder; its digest covers all of it.

    also: further remarks on it. Never raises for anything a student can submit: what can't be read has no
    cells, and a remark says why.
    """
    wanted = folder / f"{exercise}.ipynb"
    path = find_notebook(wanted)
    cells, of_notebook, digest = read_notebook(path)
    remarks = list(of_notebook)
    if path != wanted:
        remarks.append(Remark("renamed", {"name": valid_text(path.name), "wanted": wanted.name}))
    elif [remark.kind for remark in remarks] == ["not_submitted"]:
        others = sorted(valid_text(other.name) for other in folder.glob("*.ipynb"))
        if others:
            told = {"wanted": wanted.name, "number": len(others), "names": others[:MAX_NAMED]}
            remarks = [Remark("several_notebooks", told)]
    remarks += also
    companions: dict[str, bytes] = {}
    if cells:
        companions, left = read_companions(path.parent, path.name)
        remarks += left
    whole = hashlib.sha256(digest.encode())
    for name, content in companions.items():
        whole.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
    # what a remark says is part of what was handed in: another file name, another time stamp
    whole.update(json.dumps([[r.kind, dict(r.parameters)] for r in remarks]).encode())
    return Submission(student, cells, tuple(remarks), whole.hexdigest(), companions)


Cells = tuple[SubmittedCell, ...]


def read_notebook(path: Path) -> tuple[Cells, tuple[Remark, ...], str]:
    """The cells of the notebook at a path, remarks, and a digest of its bytes."""
    if any(part.is_symlink() for part in path.parents[:2]):
        return (), (Remark("in_link"),), ""
    try:
        content = ordinary_content(path, MAX_NOTEBOOK, "notebook")
    except NotReadError as error:
        return (), (error.remark,), ""
    digest = hashlib.sha256(content).hexdigest()
    if not content.strip():
        return (), (Remark("empty"),), digest
    try:
        return *_cells(json.loads(content)), digest
    except (ValueError, TypeError, RecursionError) as error:
        reason = valid_text(error, 200) or type(error).__name__
        return (), (Remark("not_a_notebook", {"reason": reason}),), digest


def read_companions(folder: Path, notebook: str) -> tuple[dict[str, bytes], list[Remark]]:
    """The ordinary files that lie beside a notebook, within limits, and what was left out."""
    found: dict[str, bytes] = {}
    left: list[str] = []
    for name in sorted(_files(folder) - {notebook, *OF_THE_EXCHANGE}):
        if len(found) >= MAX_COMPANIONS or not name.isprintable():
            left.append(valid_text(name))
            continue
        try:
            found[name] = ordinary_content(folder / name, MAX_COMPANION, "file")
        except NotReadError:
            left.append(name)
    if not left:
        return found, []
    parameters = {
        "files": MAX_COMPANIONS,
        "megabytes": MAX_COMPANION / 1e6,
        "left_out": left[:MAX_NAMED],
        "more": max(0, len(left) - MAX_NAMED),
    }
    return found, [Remark("companions", parameters)]


def _files(folder: Path) -> set[str]:
    """Names of the ordinary files in a folder; none when it is a link or goes away meanwhile."""
    if folder.is_symlink():
        return set()
    try:
        with os.scandir(folder) as listing:
            some = itertools.islice(listing, MAX_FILES)
            return {entry.name for entry in some if entry.is_file(follow_symlinks=False)}
    except OSError:
        return set()


def _text(cell: dict) -> str:
    """A cell's source, whole."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def _pasted_as_attachments(text: str) -> tuple[str, dict[str, dict[str, str]]]:
    """Markdown with the pictures that stand in it as attachments, and these."""
    found: dict[str, dict[str, str]] = {}

    def attached(picture: re.Match) -> str:
        name = f"pasted-{len(found)}"
        found[name] = {picture[1]: picture[2]}
        return f"attachment:{name}"

    return PASTED.sub(attached, text), found


def _pictures(attachments: Any, characters_left: int) -> dict[str, dict[str, str]]:
    """The PNG and JPEG files pasted into a cell, as nbformat's attachments, within limits."""
    found: dict[str, dict[str, str]] = {}
    for name, kinds in attachments.items() if isinstance(attachments, dict) else ():
        for kind, beginning in PICTURES.items():
            data = kinds.get(kind) if isinstance(kinds, dict) else None
            if not isinstance(data, str) or len(data) > min(MAX_PICTURE, characters_left):
                continue
            try:
                picture = base64.b64decode(data)
            except ValueError:
                continue
            if picture.startswith(beginning):
                # encoded anew, so that nothing but base64 reaches a page
                encoded = base64.b64encode(picture).decode()
                found[valid_text(name, 200)] = {kind: encoded}
                characters_left -= len(encoded)
                break
    return found


def _identifier(name: Any) -> str | None:
    return valid_text(name) if isinstance(name, str) else None


def _cells(notebook: Any) -> tuple[Cells, tuple[Remark, ...]]:
    """A notebook's cells, whatever shape it is in; ValueError when it has none."""
    if not isinstance(notebook, dict):
        raise ValueError("it is not a JSON object")
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):
        cells = [
            cell
            for sheet in notebook["worksheets"]
            if isinstance(sheet, dict)
            for cell in sheet.get("cells", [])
        ]
    if not isinstance(cells, list):
        raise ValueError("it has no list of cells")
    found: dict[int, SubmittedCell] = {}
    characters_left, picture_characters_left = MAX_SOURCES, MAX_PICTURES
    remarks: tuple[Remark, ...] = ()
    for number in _answers_first(cells):
        if len(found) >= MAX_CELLS or characters_left <= 0:
            remarks = (Remark("too_long", {"cells": len(cells), "read": len(found)}),)
            break
        cell = cells[number]
        text, attachments = _text(cell), cell.get("attachments")
        kind = "code" if cell.get("cell_type") == "code" else "markdown"
        if kind == "markdown":
            text, pasted = _pasted_as_attachments(text)
            attachments = {**(attachments if isinstance(attachments, dict) else {}), **pasted}
        source = valid_text(text, MAX_SOURCE)
        characters_left -= len(source)
        pictures = _pictures(attachments, picture_characters_left)
        picture_characters_left -= sum(
            len(data) for kinds in pictures.values() for data in kinds.values()
        )
        names = _identifier(_given(cell).get("grade_id")), _identifier(cell.get("id"))
        found[number] = SubmittedCell(kind, source, *names, pictures)
    return tuple(found[number] for number in sorted(found)), remarks


def _given(cell: dict) -> dict:
    """What nbgrader's metadata say of a cell."""
    metadata = cell.get("metadata")
    own = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return own if isinstance(own, dict) else {}


def _answers_first(cells: Sequence[Any]) -> Iterator[int]:
    """The numbers of cells in the order in which they are read: however long the others are."""
    known = [number for number, cell in enumerate(cells) if isinstance(cell, dict)]
    yield from (number for number in known if _given(cells[number]).get("solution"))
    yield from (number for number in known if not _given(cells[number]).get("solution"))
