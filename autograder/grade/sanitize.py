"""The sanitised notebook: a submission rebuilt from the released exercise.

From the student come only the source of answer cells and cells of their own making, in place. Tags,
metadata, points, flags, outputs and grade cells come from the release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence

import nbformat
from nbformat import NotebookNode

from autograder.build.released_versions import cell_digest
from autograder.catalogue import definitions
from autograder.display.cleaning import clean_markdown
from autograder.exercises import CHECK_CELLS, given, is_answer_cell
from autograder.grade.result import Remark
from autograder.grade.submission import Submission, SubmittedCell

MISSING = "# This answer cell is missing from the submission."


def _defined(source: str) -> set[str]:
    """The functions and classes that a cell defines, also if it has a syntax error."""
    try:
        return set(definitions(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:def|class)\s+(\w+)", source, flags=re.MULTILINE))


def _match(
    cells: Sequence[SubmittedCell], skeleton: Sequence[NotebookNode]
) -> tuple[list[str | None], list[Remark]]:
    """For every submitted cell the released cell that it is, if any; and remarks."""
    known = {cell.id for cell in skeleton}
    keys = [
        cell.grade_id if cell.grade_id in known else cell.id if cell.id in known else None
        for cell in cells
    ]
    remarks = []
    for answer in filter(is_answer_cell, skeleton):
        name, wanted = answer.id, _defined(answer.source)
        if name in keys:
            continue
        for number, cell in enumerate(cells):
            if keys[number] is None and wanted & _defined(cell.source):
                keys[number] = name
                found = {"cell": name, "names": sorted(wanted)}
                remarks.append(Remark("answer_found", found))
                break
        else:
            remarks.append(Remark("answer_missing", {"cell": name}))
    return keys, remarks


def _own_cell(cell: SubmittedCell) -> NotebookNode:
    if cell.kind == "code":
        return nbformat.v4.new_code_cell(cell.source)
    source = clean_markdown(cell.source)
    return nbformat.v4.new_markdown_cell(source, attachments=dict(cell.pictures))


def _released_cell(cell: NotebookNode, submitted: SubmittedCell | None) -> NotebookNode:
    """A released cell, with the student's source if it is an answer."""
    fresh = nbformat.from_dict(json.loads(json.dumps(cell)))
    fresh.metadata = NotebookNode(nbgrader=fresh.metadata.nbgrader)
    if given(cell).solution:
        if submitted is not None:
            if cell.cell_type == "code":
                fresh.source = submitted.source
            else:
                fresh.source = clean_markdown(submitted.source)
                fresh.attachments = nbformat.from_dict(dict(submitted.pictures))
        elif cell.cell_type == "code":
            fresh.source = MISSING
    return fresh


def _is_changed(
    released: NotebookNode, submitted: SubmittedCell, versions: Collection[str]
) -> bool:
    """Whether a cell that isn't for answers has been edited: an import added, a check removed.

    versions: digests of all versions of the cell ever released; none of them is an edit.
    """
    digest = cell_digest(submitted.source)
    same = digest == cell_digest(released.source) or digest in versions
    return released.cell_type == "code" and not given(released).solution and not same


def sanitized(
    submission: Submission, release: NotebookNode, versions: Mapping[str, Collection[str]]
) -> tuple[NotebookNode, list[Remark]]:
    """A notebook of the released cells, in their order, with a student's answers and own cells.

    A cell of the student's own stands behind the released cell that it followed in the submission; so
    do copies of an answer cell and the halves of one that was split. versions: from
    `released_versions`.
    """
    cells = submission.cells
    skeleton = [cell for cell in release.cells if "nbgrader" in cell.metadata]
    keys, remarks = _match(cells, skeleton) if cells else ([], [])
    known = {cell.id: cell for cell in skeleton}
    first: dict[str, SubmittedCell] = {}
    behind: dict[str | None, list[NotebookNode]] = {}
    anchor = None
    for cell, key in zip(cells, keys, strict=True):
        if key is not None and key not in first:
            first[key] = cell
            anchor = key
            if _is_changed(known[key], cell, versions.get(key, ())):
                if given(known[key]).grade:
                    remarks.append(Remark("check_changed", {"cell": key}))
                elif key not in CHECK_CELLS:
                    behind.setdefault(key, []).append(_own_cell(cell))
        elif key is None or given(known[key]).solution:
            behind.setdefault(anchor, []).append(_own_cell(cell))
    notebook = nbformat.v4.new_notebook(metadata=json.loads(json.dumps(release.metadata)))
    notebook.cells = list(behind.get(None, []))
    for cell in skeleton:
        notebook.cells.append(_released_cell(cell, first.get(cell.id)))
        notebook.cells += behind.get(cell.id, [])
    for number, cell in enumerate(notebook.cells):
        cell.id = given(cell).get("grade_id", f"own-{number}")
    return notebook, remarks
