"""Reading what a student has handed in: nothing that lies there is followed, trusted or too large."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.text import valid_text

MAX_NOTEBOOK = 20_000_000
MAX_SOURCE = 100_000
MAX_SOURCES = 1_000_000
MAX_CELLS = 2_000
MAX_COMPANIONS = 20
MAX_COMPANION = 5_000_000
MAX_FILES = 10_000
MAX_PICTURE = 2_000_000
MAX_PICTURES = 10_000_000
# how the files of each kind begin
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
# written by nbgrader, not by the student
OF_THE_EXCHANGE = ("timestamp.txt", "submission_secret.txt")


@dataclass
class Submission:
    """A submission as plain data.

    cells: {"type", "source", "grade_id", "id", "attachments"} each; remarks: what was wrong with it, in
    sentences; digest: of the notebook's bytes; companions: the files beside it, by name; refused: the
    system's reason why this account may not read the notebook, or nothing.
    """

    cells: list[dict]
    remarks: list[str]
    digest: str = ""
    companions: dict[str, bytes] = field(default_factory=dict)
    refused: str = ""


class NotReadError(ValueError):
    """A file that is not read; the message is a sentence for its author.

    refused: the reason of the system, if it is the reason.
    """

    def __init__(self, message: str, refused: str = "") -> None:
        super().__init__(message)
        self.refused = refused


def ordinary_content(path: Path, limit: int, what: str) -> bytes:
    """The bytes of an ordinary file of at most limit bytes, also if it is being changed meanwhile."""
    try:
        # not blocking: a pipe would wait for a writer
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        raise NotReadError(f"No {what} named {valid_text(path.name)} was submitted.") from None
    except OSError as error:
        if path.is_symlink():
            raise NotReadError(f"The submitted {what} is a link, which isn't followed.") from None
        if path.exists() and not path.is_file():
            raise NotReadError(f"The submitted {what} is not an ordinary file.") from None
        raise NotReadError(
            f"The submitted {what} can't be read: {error.strerror}.", error.strerror
        ) from None
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        raise NotReadError(f"The submitted {what} is not an ordinary file.")
    with os.fdopen(file, "rb") as opened:
        content = opened.read(limit + 1)
    if len(content) > limit:
        size = f"{max(status.st_size, len(content)) / 1e6:.0f} MB"
        raise NotReadError(f"The submitted {what} is too large to be read ({size}).")
    return content


def read_submission(path: Path) -> Submission:
    """The submission whose notebook is at a path, without the files beside it.

    Never raises for anything a student can submit: what can't be read has no cells, and a remark
    says why.
    """
    if any(part.is_symlink() for part in path.parents[:2]):
        remark = "The submitted notebook, or its folder, is a link, which isn't followed."
        return Submission([], [remark])
    try:
        content = ordinary_content(path, MAX_NOTEBOOK, "notebook")
    except NotReadError as error:
        return Submission([], [str(error)], refused=error.refused)
    digest = hashlib.sha256(content).hexdigest()
    if not content.strip():
        return Submission([], ["The submitted notebook is empty."], digest)
    try:
        return Submission(*_cells(json.loads(content)), digest)
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error)[:200] or type(error).__name__
        remark = f"The submitted file is not a notebook that can be read ({reason})."
        return Submission([], [remark], digest)


def companions(folder: Path, notebook: str) -> tuple[dict[str, bytes], list[str]]:
    """The ordinary files that lie beside a notebook, within limits, and remarks on what was left out."""
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
    shown = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    return found, [
        f"Not all files beside the notebook were used (at most {MAX_COMPANIONS}, of at most "
        f"{MAX_COMPANION / 1e6:g} MB): without {shown}."
    ]


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


def _text(source: Any) -> str:
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    source = source[:MAX_SOURCE] if isinstance(source, str) else ""
    return valid_text(source)


def _pictures(attachments: Any, room: int) -> dict[str, dict[str, str]]:
    """The PNG and JPEG files pasted into a cell, as nbformat's attachments, of at most room characters."""
    found: dict[str, dict[str, str]] = {}
    for name, kinds in attachments.items() if isinstance(attachments, dict) else ():
        for kind, beginning in PICTURES.items():
            data = kinds.get(kind) if isinstance(kinds, dict) else None
            if not isinstance(data, str) or len(data) > min(MAX_PICTURE, room):
                continue
            try:
                picture = base64.b64decode(data)
            except ValueError:
                continue
            if picture.startswith(beginning):
                # encoded anew: nothing but base64 reaches a page
                encoded = base64.b64encode(picture).decode()
                found[valid_text(name)[:200]] = {kind: encoded}
                room -= len(encoded)
                break
    return found


def _identifier(name: Any) -> str | None:
    return valid_text(name) if isinstance(name, str) else None


def _cells(notebook: Any) -> tuple[list[dict], list[str]]:
    """Cells as in `Submission`, whatever shape the notebook is in; remarks."""
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
    found: list[dict] = []
    room = MAX_SOURCES
    pictures = MAX_PICTURES
    for number, cell in enumerate(cells):
        if number >= MAX_CELLS or room <= 0:
            remark = (
                f"The notebook is too long: of its {len(cells)} cells the first {number} were read."
            )
            return found, [remark]
        if not isinstance(cell, dict):
            continue
        metadata = cell.get("metadata")
        own = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        grade_id = own.get("grade_id") if isinstance(own, dict) else None
        source = _text(cell.get("source", cell.get("input", "")))
        room -= len(source)
        attachments = _pictures(cell.get("attachments"), pictures)
        pictures -= sum(len(data) for kinds in attachments.values() for data in kinds.values())
        found.append(
            {
                "type": cell.get("cell_type"),
                "source": source,
                "grade_id": _identifier(grade_id),
                "id": _identifier(cell.get("id")),
                "attachments": attachments,
            }
        )
    return found, []
