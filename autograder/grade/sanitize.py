"""The hardened copy: a submission rebuilt from the released exercise.

From the student come only the source of answer cells and cells of their own making, in place. Tags,
metadata, points, flags, outputs and test cells come from the release.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import nbformat
import nh3
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.build.generate import released
from autograder.build.released_versions import cell_digest, released_versions
from autograder.catalogue import definitions
from autograder.display.cleaning import clean_html, has_forbidden_link
from autograder.errors import ExerciseError
from autograder.grade.submission import Submission, read_submission
from autograder.runtime.autotest import parse_cell
from autograder.text import as_markdown

MAX_MARKDOWN = 10_000
HARMLESS = "|".join(sorted(nh3.ALLOWED_TAGS))
MISSING = "# This answer cell is missing from the submission."


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
    # else the next line takes it for a tag
    source = re.sub(r"<(https?://[^<>\s]+)>", r"\1", source)
    source = re.sub(rf"<(?!/?(?:{HARMLESS})\b[^<>]*>)(?=[a-zA-Z/!?])", "< ", source)
    if re.search(r"<[a-zA-Z/]", source):
        source = clean_html(source)
    source = re.sub(r"(?i)(javascript|vbscript|data)\s*:", r"\1 ", source)
    if has_forbidden_link(source):
        # without these two no link of the cell is one
        source = source.replace("](", "]&#40;").replace("]:", "]&#58;")
    return source


def _own_cell(cell: dict) -> NotebookNode:
    if cell["type"] == "code":
        return nbformat.v4.new_code_cell(cell["source"])
    source = clean_markdown(cell["source"])
    return nbformat.v4.new_markdown_cell(source, attachments=cell["attachments"])


def _released_cell(cell: NotebookNode, submitted: dict | None) -> NotebookNode:
    """A released cell, with the student's source if it is an answer."""
    fresh = nbformat.from_dict(json.loads(json.dumps(cell)))
    fresh.metadata = NotebookNode(nbgrader=fresh.metadata.nbgrader)
    if cell.metadata.nbgrader.solution:
        if submitted is not None:
            source = submitted["source"]
            if cell.cell_type == "code":
                fresh.source = source
            else:
                fresh.source = clean_markdown(source)
                fresh.attachments = nbformat.from_dict(submitted["attachments"])
        elif cell.cell_type == "code":
            fresh.source = MISSING
    return fresh


def _is_changed(released: NotebookNode, submitted: dict, versions: Collection[str]) -> bool:
    """Whether a cell that isn't for answers has been edited: an import added, a check removed.

    versions: digests of all versions of the cell ever released; none of them is an edit.
    """
    digest = cell_digest(submitted["source"])
    same = digest == cell_digest(released.source) or digest in versions
    return released.cell_type == "code" and not released.metadata.nbgrader.solution and not same


def rebuild(
    submission: Submission, release: NotebookNode, versions: Mapping[str, Collection[str]]
) -> NotebookNode:
    """A notebook of the released cells, in their order, with a student's answers and own cells.

    versions: from `versions.released_versions`.

    A cell of the student's own stands behind the released cell that it followed in the submission; so
    do copies of an answer cell and the halves of one that was split.
    """
    cells = submission.cells
    skeleton = [cell for cell in release.cells if "nbgrader" in cell.metadata]
    keys, found = _match(cells, skeleton) if cells else ([], [])
    remarks = [*submission.remarks, *found]
    first: dict[str, dict] = {}
    behind: dict[str | None, list[NotebookNode]] = {}
    anchor = None
    known = {cell.id: cell for cell in skeleton}
    given = {name: cell.metadata.nbgrader for name, cell in known.items()}
    for cell, key in zip(cells, keys, strict=True):
        if key is not None and key not in first:
            first[key] = cell
            anchor = key
            if _is_changed(known[key], cell, versions.get(key, ())):
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
        text = "**From the grader.** " + as_markdown(" ".join(remarks))
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text))
    for number, cell in enumerate(notebook.cells):
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", f"own-{number}")
    notebook.metadata.autotest = NotebookNode(remarks=remarks, submission=submission.digest)
    return notebook


def check_release(exercise: str, release: NotebookNode, db_url: str) -> None:
    """Refuse to grade when the gradebook's exercise isn't the released one: they must never mix."""
    with Gradebook(db_url) as gradebook:
        try:
            stored = gradebook.find_notebook(exercise, exercise)
        except MissingEntry as error:
            raise ExerciseError(
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
                raise ExerciseError(
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
        path = Path(resources["metadata"]["path"]) / f"{resources['metadata']['name']}.ipynb"
        return rebuild(read_submission(path), release, released_versions(exercise)), resources
