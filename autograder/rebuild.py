"""The hardened copy: a submission rebuilt from the released exercise.

From the student come only the source of answer cells and cells of their own making, in place. Tags,
metadata, points, flags, outputs and test cells come from the release.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import stat
from pathlib import Path
from typing import Any

import nbformat
import nh3
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.autotest import parse_cell
from autograder.catalogue import CatalogueError, definitions
from autograder.generation import released

MAX_SUBMISSION = 20_000_000
MAX_SOURCE = 100_000
MAX_SOURCES = 1_000_000
MAX_MARKDOWN = 10_000
MAX_CELLS = 2_000
HARMLESS = "|".join(sorted(nh3.ALLOWED_TAGS))
MISSING = "# This answer cell is missing from the submission."


def read_submission(path: Path) -> tuple[list[dict], list[str], str]:
    """The cells of a submitted notebook, remarks on what was wrong with it, and its digest.

    Never raises for anything a student can submit: what can't be read has no cells, and a remark
    says why.
    """
    try:
        status = path.lstat()
        if any(part.is_symlink() for part in (path, *path.parents[:2])):
            remark = "The submitted notebook, or its folder, is a link, which isn't followed."
            return [], [remark], ""
        if not stat.S_ISREG(status.st_mode):
            return [], ["The submitted notebook is not an ordinary file."], ""
        if status.st_size > MAX_SUBMISSION:
            size = f"{status.st_size / 1e6:.0f} MB"
            return (
                [],
                [f"The submitted notebook is too large to be read ({size})."],
                str(status.st_size),
            )
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return [], [f"No notebook named {path.name} was submitted."], ""
    except OSError as error:
        return [], [f"The submitted notebook can't be read: {error.strerror}."], ""
    digest = hashlib.sha256(content).hexdigest()
    try:
        return *_cells(json.loads(content)), digest
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error)[:200] or type(error).__name__
        return [], [f"The submitted file is not a notebook that can be read ({reason})."], digest


def _text(source: Any) -> str:
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    source = source[:MAX_SOURCE] if isinstance(source, str) else ""
    # half a surrogate pair can't be written to a file
    return source.encode("utf-8", "replace").decode()


def _cells(notebook: Any) -> tuple[list[dict], list[str]]:
    """Cells as {"type", "source", "grade_id", "id"}, whatever shape the notebook is in; remarks."""
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
        found.append(
            {
                "type": cell.get("cell_type"),
                "source": source,
                "grade_id": grade_id if isinstance(grade_id, str) else None,
                "id": cell.get("id") if isinstance(cell.get("id"), str) else None,
            }
        )
    return found, []


def _defined(source: str) -> set[str]:
    try:
        return set(definitions(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:def|class)\s+(\w+)", source, flags=re.MULTILINE))


def _match(cells: list[dict], skeleton: list[NotebookNode]) -> tuple[list[str | None], list[str]]:
    """For every submitted cell the released cell that it is, if any; and remarks."""
    known = {cell.id: cell for cell in skeleton}
    keys: list[str | None] = []
    for cell in cells:
        key = cell["grade_id"] if cell["grade_id"] in known else None
        keys.append(key or (cell["id"] if cell["id"] in known else None))
    remarks = []
    answers = {
        cell.id: _defined(cell.source)
        for cell in skeleton
        if cell.metadata.nbgrader.solution and cell.cell_type == "code"
    }
    for name, wanted in answers.items():
        if name in keys:
            continue
        for number, cell in enumerate(cells):
            if keys[number] is None and wanted & _defined(cell["source"]):
                keys[number] = name
                remarks.append(
                    f"The answer cell {name} had lost its marks; it was found by the name it defines "
                    f"({', '.join(sorted(wanted))})."
                )
                break
        else:
            remarks.append(f"The answer cell {name} is missing.")
    return keys, remarks


def clean_markdown(source: str) -> str:
    """A student's Markdown without HTML that could act, and without links to scripts.

    What is no harmless tag stays readable: `p <q` is mathematics, not the tag q.
    """
    source = re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", " ", source[:MAX_MARKDOWN])
    # Markdown would decode entities after this: java&#115;cript
    while (decoded := html.unescape(source)) != source:
        source = decoded
    source = re.sub(rf"<(?!/?(?:{HARMLESS})\b[^<>]*>)(?=[a-zA-Z/!?])", "< ", source)
    if re.search(r"<[a-zA-Z/]", source):
        source = nh3.clean(source)
    return re.sub(r"(?i)(javascript|vbscript|data)\s*:", r"\1 ", source)


def _own_cell(cell: dict) -> NotebookNode:
    if cell["type"] == "code":
        return nbformat.v4.new_code_cell(cell["source"])
    return nbformat.v4.new_markdown_cell(clean_markdown(cell["source"]))


def _released_cell(cell: NotebookNode, submitted: dict | None) -> NotebookNode:
    """A released cell, with the student's source if it is an answer."""
    fresh = nbformat.from_dict(json.loads(json.dumps(cell)))
    fresh.metadata = NotebookNode(nbgrader=fresh.metadata.nbgrader)
    if cell.metadata.nbgrader.solution:
        if submitted is not None:
            source = submitted["source"]
            fresh.source = source if cell.cell_type == "code" else clean_markdown(source)
        elif cell.cell_type == "code":
            fresh.source = MISSING
    return fresh


def _is_changed(released: NotebookNode, submitted: dict) -> bool:
    """Whether a cell that isn't for answers has been edited: an import added, a check removed."""
    own = released.metadata.nbgrader
    same = "".join(released.source.split()) == "".join(submitted["source"].split())
    return released.cell_type == "code" and not own.solution and not same


def rebuild(cells: list[dict], remarks: list[str], release: NotebookNode) -> NotebookNode:
    """A notebook of the released cells, in their order, with a student's answers and own cells.

    cells, remarks: from `read_submission`. A cell of the student's own stands behind the released
    cell that it followed in the submission; so do copies of an answer cell and the halves of one
    that was split.
    """
    skeleton = [cell for cell in release.cells if "nbgrader" in cell.metadata]
    keys, found = _match(cells, skeleton) if cells else ([], [])
    remarks = [*remarks, *found]
    first: dict[str, dict] = {}
    behind: dict[str | None, list[NotebookNode]] = {}
    anchor = None
    known = {cell.id: cell for cell in skeleton}
    given = {name: cell.metadata.nbgrader for name, cell in known.items()}
    for cell, key in zip(cells, keys, strict=True):
        if key is not None and key not in first:
            first[key] = cell
            anchor = key
            if _is_changed(known[key], cell):
                if given[key].grade:
                    remarks.append(f"The check {key} had been changed; the released one was used.")
                elif key != "checker":
                    behind.setdefault(key, []).append(_own_cell(cell))
        elif key is None or given[key].solution:
            behind.setdefault(anchor, []).append(_own_cell(cell))
    notebook = nbformat.v4.new_notebook(metadata=json.loads(json.dumps(release.metadata)))
    notebook.cells = list(behind.get(None, []))
    for cell in skeleton:
        notebook.cells.append(_released_cell(cell, first.get(cell.id)))
        notebook.cells += behind.get(cell.id, [])
    if remarks:
        text = "**From the grader.** " + html.escape(" ".join(remarks))
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text))
    for number, cell in enumerate(notebook.cells):
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", f"own-{number}")
    notebook.metadata.autotest = NotebookNode(remarks=remarks)
    return notebook


def check_release(exercise: str, release: NotebookNode, db_url: str) -> None:
    """Refuse to grade when the gradebook's exercise isn't the released one: they must never mix."""
    with Gradebook(db_url) as gradebook:
        try:
            stored = gradebook.find_notebook(exercise, exercise)
        except MissingEntry as error:
            raise CatalogueError(
                f"The gradebook doesn't know {exercise}: run `python -m autograder grade`, or "
                f"`nbgrader generate_assignment {exercise}`."
            ) from error
        sources = {cell.name: cell.source for cell in stored.source_cells}
        points = {cell.name: cell.max_score for cell in stored.grade_cells}
    for cell in release.cells:
        own = cell.metadata.get("nbgrader")
        if own and own.grade and cell.cell_type == "code":
            name = own.grade_id
            same = name in sources and what_it_asks(sources[name]) == what_it_asks(cell.source)
            if not same or points.get(name) != own.points:
                raise CatalogueError(
                    f"{exercise}, cell {name}, is not the one that the gradebook knows: the exercise has "
                    "changed since it was handed out. Restore the released version under exercises/, or "
                    "run `python -m autograder grade --rerelease` to grade everybody by the new one."
                )


def what_it_asks(source: str) -> list:
    """A grade cell's inputs, expressions and points, without the numbers baked into it."""
    forbidden, steps = parse_cell(source)
    asked = [
        step if isinstance(step, str) else {k: v for k, v in step.items() if k != "answer"}
        for step in steps
    ]
    return [forbidden, asked]


class Rebuild(NbGraderPreprocessor):
    """Sanitising step of nbgrader's autograde: replace the submission by its hardened copy."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Rebuild the notebook that resources name; what the exporter has read of it is not used."""
        exercise = resources["nbgrader"]["notebook"]
        release = released(exercise)
        check_release(exercise, release, resources["nbgrader"]["db_url"])
        given = resources.get("submission") or self._read(resources)
        rebuilt = rebuild(given["cells"], given["remarks"], release)
        rebuilt.metadata.autotest.submission = given["digest"]
        return rebuilt, resources

    def _read(self, resources: dict) -> dict:
        metadata = resources["metadata"]
        path = Path(metadata["path"]) / f"{metadata['name']}.ipynb"
        cells, remarks, digest = read_submission(path)
        return {"cells": cells, "remarks": remarks, "digest": digest}
