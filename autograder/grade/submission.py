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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote

from nbformat import NotebookNode

from autograder.course import Course, Exercise
from autograder.display.pictures import JPEG, PNG, pixels
from autograder.exercises import released
from autograder.files import ordinary_name
from autograder.grade.matching import SubmittedCell, answered
from autograder.grade.result import FOR_A_PERSON, Remark
from autograder.grade.without_outputs import without_outputs
from autograder.nbgrader_adapter import timestamp
from autograder.runtime.plain_data import valid_text

MAX_NOTEBOOK = 20_000_000
# of a notebook whose outputs are left out while it is read, in a process of its own
MAX_WITH_OUTPUTS = 200_000_000
MAX_SOURCE = 100_000
MAX_SOURCES = 1_000_000
MAX_CELLS = 2_000
MAX_COMPANIONS = 20
MAX_COMPANION = 5_000_000
MAX_FILES = 10_000
MAX_NAMED = 3
MAX_NOTEBOOKS = 5
# of a picture in base64: phones take photos of up to 5 MB
MAX_PICTURE = 8_000_000
# of one picture: a browser takes four bytes for each
MAX_PIXELS = 20_000_000
# a picture in Markdown itself, as Colab stores what is pasted
PASTED = re.compile(r"data:(image/(?:png|jpeg));base64,([A-Za-z0-9+/=]*)")
# where a text shows a picture that is attached to its cell
SHOWN = re.compile(r"attachment:([^\s()<>\"']+)")
# how the files of each kind begin
PICTURES = {"image/png": PNG, "image/jpeg": JPEG}
# written by nbgrader, not by the student
OF_THE_EXCHANGE = {"timestamp.txt", "submission_secret.txt"}
# Windows and Safari may add .txt to what a browser downloads
NOTEBOOK = re.compile(r"\.ipynb(?:\.txt)?$", re.IGNORECASE)
# what operating systems, editors and browsers leave beside files
LITTER = re.compile(
    r"\..*|__MACOSX|~\$.*|.*~|#.*#|Thumbs\.db|ehthumbs\.db|desktop\.ini|Icon\r|\$RECYCLE\.BIN"
    r"|.*\.(?:swp|swo|part|crdownload|download)",
    re.IGNORECASE | re.DOTALL,
)
# how git marks what two versions have differently
CONFLICT = re.compile(rb"^(?:<{7} |>{7} )", re.MULTILINE)
# how other files begin than notebooks, and what they are
OTHER_FILES = {
    b"PK\x03\x04": "a zip, or a document of an office program",
    b"%PDF": "a PDF",
    b"<": "a web page",
    b"\x1f\x8b": "a packed file",
    b"#": "a program or a text",
    b"import ": "a program",
    b"from ": "a program",
}


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
        if can_be_id(entry.name) and os.path.lexists(entry / exercise.name)
    )


def can_be_id(name: str) -> bool:
    """Whether a folder can be a student's: one that isn't hidden, of a name that a gradebook can hold."""
    return not name.startswith(".") and valid_text(name, len(name)) == name


def is_litter(path: PurePath) -> bool:
    """Whether a file, or a folder on the way to it, is one that nobody meant to hand in."""
    return any(LITTER.fullmatch(part) for part in path.parts)


def find_notebooks(wanted: Path) -> list[Path]:
    """The notebooks in a folder: the one of the exercise's name first, then the others by their names.

    Files whose names end otherwise than in .ipynb count if there are no others.
    """
    folder = wanted.parent
    try:
        there = sorted(folder.iterdir())
    except OSError:
        there = []
    named = [
        path for path in there if NOTEBOOK.search(path.name) and not is_litter(PurePath(path.name))
    ]
    proper = [path for path in named if path.suffix == ".ipynb"]
    others = [path for path in proper or named if path != wanted][:MAX_NOTEBOOKS]
    return [wanted, *others] if os.path.lexists(wanted) else others


def read_submission(course: Course, student: str, exercise: Exercise) -> Submission:
    """What a student has handed in to a class; see `read_folder`."""
    folder = course.submitted / student / exercise.name
    remarks = []
    try:
        timestamp(folder)
    except ValueError:
        remarks.append(Remark("timestamp"))
    # what earlier exercises built may be held back, and given out later
    folders = exercise.notebook.parent, course.home / "built_so_far" / exercise.name
    handed_out = {path.name for given in folders for path in given.glob("*")}
    return read_folder(
        folder, student, exercise.name, lambda: released(exercise), remarks, handed_out
    )


def read_folder(
    folder: Path,
    student: str,
    exercise: str,
    release: Callable[[], NotebookNode],
    also: Sequence[Remark] = (),
    handed_out: Collection[str] = (),
) -> Submission:
    """What a student has handed in, in a folder; its digest covers all of it.

    release: gives the exercise as it was handed out, to tell which of several notebooks was worked on; also:
    further remarks; handed_out: names of files that come with the exercise. Never raises for anything a student can
    submit: what can't be read has no cells, and a remark says why.
    """
    path, cells, remarks, digest = _chosen(folder / f"{exercise}.ipynb", release)
    remarks += also
    companions: dict[str, bytes] = {}
    if cells:
        companions, left = read_companions(path.parent, path.name)
        remarks += left
    if not any(remark.kind in FOR_A_PERSON for remark in remarks):
        others = _other_files(path, handed_out)
        if others and not answered(cells, release()):
            told = {"names": others[:MAX_NAMED], "number": len(others)}
            remarks.append(Remark("other_files", told))
    whole = hashlib.sha256(digest.encode())
    for name, content in companions.items():
        whole.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
    # what a remark says is part of what was handed in: another file name, another time stamp
    whole.update(json.dumps([[r.kind, dict(r.parameters)] for r in remarks]).encode())
    return Submission(student, cells, tuple(remarks), whole.hexdigest(), companions)


def _chosen(
    wanted: Path, release: Callable[[], NotebookNode]
) -> tuple[Path, Cells, list[Remark], str]:
    """The notebook of a folder that is graded: its path, cells, remarks, and digest.

    That is the one of the exercise's name if somebody has worked on it, else the only one that somebody has
    worked on. What is not certain is left to a person, with a remark.
    """
    found = find_notebooks(wanted) or [wanted]
    read = {path: read_notebook(path) for path in found}
    path, unseen = found[0], []
    if len(found) > 1:
        skeleton = release()
        work = {path: answered(cells, skeleton) for path, (cells, _, _) in read.items()}
        distinct = {str(sorted(done.items())): path for path, done in work.items() if done}
        own = work.get(wanted, {})
        others = [valid_text(other.name) for other in found if other != wanted]
        told = {"wanted": wanted.name, "number": len(others), "names": others[:MAX_NAMED]}
        if not own and len(distinct) == 1:
            (path,) = distinct.values()
        elif distinct and path != wanted:
            both = hashlib.sha256("".join(digest for _, _, digest in read.values()).encode())
            return wanted, (), [Remark("several_notebooks", told)], both.hexdigest()
        elif any(done.keys() - own.keys() for done in work.values()):
            unseen = [Remark("other_work", told)]
    cells, of_notebook, digest = read[path]
    remarks = [*of_notebook, *unseen]
    if path != wanted:
        kind = "copy_taken" if wanted in found else "renamed"
        remarks.append(Remark(kind, {"name": valid_text(path.name), "wanted": wanted.name}))
    return path, cells, remarks, digest


Cells = tuple[SubmittedCell, ...]


def read_notebook(path: Path) -> tuple[Cells, tuple[Remark, ...], str]:
    """The cells of the notebook at a path, remarks, and a digest of its bytes."""
    if any(part.is_symlink() for part in path.parents[:2]):
        return (), (Remark("in_link"),), ""
    try:
        content = ordinary_content(path, MAX_WITH_OUTPUTS, "notebook")
    except NotReadError as error:
        return (), (error.remark,), ""
    digest = hashlib.sha256(content).hexdigest()
    if not content.strip():
        return (), (Remark("empty"),), digest
    told: tuple[Remark, ...] = ()
    if len(content) > MAX_NOTEBOOK:
        size = {"megabytes": len(content) / 1e6}
        content = without_outputs(content, MAX_NOTEBOOK)
        if not content:
            return (), (Remark("too_large", {"what": "notebook", **size}),), digest
        told = (Remark("without_outputs", size),)
    try:
        try:
            found = json.loads(content)
        except UnicodeDecodeError:
            # answers are mostly ASCII, and what isn't can be read like this
            found = json.loads(content.decode("cp1252", errors="replace"))
            told += (Remark("not_utf_8"),)
        cells, remarks = _cells(found)
    except (ValueError, TypeError, RecursionError) as error:
        return (), (_not_read(content, error),), digest
    return cells, (*told, *remarks), digest


def _not_read(content: bytes, error: Exception) -> Remark:
    """Why a file is no notebook that can be read, in words that lead on."""
    if CONFLICT.search(content):
        return Remark("conflict_markers")
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    for beginning, what in OTHER_FILES.items():
        if start.startswith(beginning):
            return Remark("another_file", {"what": what})
    whole = content.rstrip(b"\0 \t\r\n").endswith(b"}")
    if isinstance(error, json.JSONDecodeError) and start.startswith(b"{") and not whole:
        return Remark("cut_short")
    reason = valid_text(error, 200) or type(error).__name__
    if isinstance(error, RecursionError):
        reason = "it is nested more deeply than any notebook"
    return Remark("not_a_notebook", {"reason": reason})


def read_companions(folder: Path, notebook: str) -> tuple[dict[str, bytes], list[Remark]]:
    """The ordinary files that lie beside a notebook, within limits, and what was left out."""
    found: dict[str, bytes] = {}
    left: list[str] = []
    for name in sorted(_files(folder) - {notebook, *OF_THE_EXCHANGE}):
        if is_litter(PurePath(name)):
            continue
        if len(found) >= MAX_COMPANIONS or ordinary_name(name) is None:
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


def _other_files(notebook: Path, known: Collection[str]) -> list[str]:
    """Names of what lies beside a notebook and may hold work: files and folders, but no links and no notebooks."""
    folder = notebook.parent
    if folder.is_symlink():
        return []
    try:
        with os.scandir(folder) as listing:
            there = [
                entry.name
                for entry in itertools.islice(listing, MAX_FILES)
                if not entry.is_symlink() and (entry.is_file() or entry.is_dir())
            ]
    except OSError:
        return []
    return sorted(
        valid_text(name)
        for name in there
        if name not in {*OF_THE_EXCHANGE, *known}
        and not NOTEBOOK.search(name)
        and not is_litter(PurePath(name))
    )


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


@dataclass
class PicturesLeft:
    """What the pictures of a notebook may still have in all."""

    characters: int = 20_000_000
    pixels: int = 100_000_000


def pictures_in(attachments: Any, left: PicturesLeft) -> dict[str, dict[str, str]]:
    """The PNG and JPEG files pasted into a cell, as nbformat's attachments, within limits."""
    found: dict[str, dict[str, str]] = {}
    for name, kinds in attachments.items() if isinstance(attachments, dict) else ():
        for kind, beginning in PICTURES.items():
            data = kinds.get(kind) if isinstance(kinds, dict) else None
            if not isinstance(data, str) or len(data) > min(MAX_PICTURE, left.characters):
                continue
            try:
                picture = base64.b64decode(data)
            except ValueError:
                continue
            most = min(MAX_PIXELS, left.pixels)
            if picture.startswith(beginning) and pixels(picture) <= most:
                # encoded anew, so that nothing but base64 reaches a page
                encoded = base64.b64encode(picture).decode()
                found[valid_text(name, 200)] = {kind: encoded}
                left.characters -= len(encoded)
                left.pixels -= pixels(picture)
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
    characters_left, pictures_left = MAX_SOURCES, PicturesLeft()
    remarks: tuple[Remark, ...] = ()
    lost: list[str] = []
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
        pictures = pictures_in(attachments, pictures_left)
        if kind == "markdown" and _given(cell).get("solution"):
            # not all that are there: editors keep pictures that a text shows no more
            shown = dict.fromkeys(map(unquote, SHOWN.findall(source)))
            lost += [name for name in shown if name not in pictures]
        marks = _identifier(_given(cell).get("grade_id")), _identifier(cell.get("id"))
        found[number] = SubmittedCell(kind, source, *marks, pictures)
    if lost:
        remarks += (Remark("pictures", {"names": lost[:MAX_NAMED], "number": len(lost)}),)
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
