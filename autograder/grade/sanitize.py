"""The sanitised notebook: a submission rebuilt from the released exercise.

From the student come only the source of answer cells and cells of their own making, in place. Tags,
metadata, points, flags, outputs and grade cells come from the release.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence

import nbformat
from nbformat import NotebookNode

from autograder.display.cleaning import clean_markdown
from autograder.exercises import (
    CHECK_CELLS,
    cell_digest,
    is_answer_cell,
    is_grade_cell,
    is_written_question,
    metadata_of,
)
from autograder.grade.matching import defined, match
from autograder.grade.pictures_in_text import TextsWithPictures
from autograder.grade.result import Remark
from autograder.grade.submission import Submission, SubmittedCell
from autograder.programs import bound_names

MISSING = "# This answer cell is missing from the submission."


class _Texts:
    """How the texts of a submission are shown: those that were handed out stay as they are."""

    def __init__(self, submission: Submission, release: NotebookNode) -> None:
        self._handed_out = {cell_digest(cell.source) for cell in release.cells}
        self._with_pictures = TextsWithPictures(submission.companions)

    def __call__(self, cell: SubmittedCell) -> tuple[str, dict[str, Mapping[str, str]]]:
        if cell_digest(cell.source) in self._handed_out:
            return clean_markdown(cell.source), dict(cell.pictures)
        return self._with_pictures.shown(cell)


def _own_cell(cell: SubmittedCell, texts: _Texts) -> NotebookNode:
    if cell.kind == "code":
        return nbformat.v4.new_code_cell(cell.source)
    source, pictures = texts(cell)
    return nbformat.v4.new_markdown_cell(source, attachments=pictures)


def _released_cell(
    cell: NotebookNode, submitted: SubmittedCell | None, texts: _Texts
) -> NotebookNode:
    """A released cell, with the student's source if it is an answer."""
    fresh = nbformat.from_dict(json.loads(json.dumps(cell)))
    fresh.metadata = NotebookNode(nbgrader=fresh.metadata.nbgrader)
    if fresh.cell_type == "code":
        # what a check would ask for is no verdict
        fresh.outputs = []
    if metadata_of(cell).solution:
        if submitted is not None:
            if cell.cell_type == "code":
                fresh.source = submitted.source
            else:
                fresh.source, pictures = texts(submitted)
                fresh.attachments = nbformat.from_dict(pictures)
        elif cell.cell_type == "code":
            fresh.source = MISSING
    return fresh


def _in_students_order(
    skeleton: Sequence[NotebookNode], keys: Sequence[str | None]
) -> list[NotebookNode]:
    """The released cells in the order in which the student's run.

    Answers and checks stand as in the submission, so that each finds what it found there; a check also waits
    for the answers that are released above it. Of the others, what prepares a cell stands above it as it was
    released. What is missing follows what it was released behind.
    """
    place = {key: number for number, key in reversed(list(enumerate(keys))) if key is not None}
    movable = list(filter(_is_movable, skeleton))
    stand = [place[cell.id] for cell in movable if cell.id in place]
    if stand == sorted(stand):
        return list(skeleton)
    last = lowest = -1
    for cell in movable:
        last = place.setdefault(cell.id, last)
        if is_answer_cell(cell):
            lowest = max(lowest, last)
        else:
            place[cell.id] = max(last, lowest)
    made: dict[str, NotebookNode] = {}
    names = [cell.id for cell in skeleton]
    for cell in sorted(movable, key=lambda one: place[one.id]):
        above = skeleton[: names.index(cell.id)]
        made |= {other.id: other for other in above if not _is_movable(other)}
        made[cell.id] = cell
    return [*made.values(), *(cell for cell in skeleton if cell.id not in made)]


def _is_movable(cell: NotebookNode) -> bool:
    return is_answer_cell(cell) or is_grade_cell(cell)


def _anchors(skeleton: Sequence[NotebookNode], keys: Sequence[str | None]) -> list[str | None]:
    """For each submitted cell the released one behind which it runs if it is the student's own.

    That is the last one above it, as long as no answer or check below it comes first.
    """
    index = {cell.id: number for number, cell in enumerate(skeleton)}
    movable = {cell.id for cell in filter(_is_movable, skeleton)}
    first = {key: place for place, key in reversed(list(enumerate(keys))) if key is not None}
    found = []
    for number in range(len(keys)):
        below = [index[key] for key, place in first.items() if place > number and key in movable]
        limit = min(below, default=len(index))
        above = [key for key, place in first.items() if place <= number and index[key] < limit]
        found.append(max(above, key=first.__getitem__, default=None))
    return found


def _is_changed(
    released: NotebookNode, submitted: SubmittedCell, versions: Collection[str]
) -> bool:
    """Whether a cell that isn't for answers has been edited: an import added, a check removed.

    versions: digests of all versions of the cell ever released; none of them is an edit.
    """
    digest = cell_digest(submitted.source)
    same = digest == cell_digest(released.source) or digest in versions
    return released.cell_type == "code" and not metadata_of(released).solution and not same


def sanitized(
    submission: Submission, release: NotebookNode, versions: Mapping[str, Collection[str]]
) -> tuple[NotebookNode, list[Remark]]:
    """A notebook of the released cells with a student's answers and own cells, to be run from top to bottom.

    A cell of the student's own stands behind the released cell that it followed in the submission; so
    do copies of an answer cell and the halves of one that was split. One that defines an answer in the place of
    a check stands above the check. None runs later than it did in the submission. versions: from `released_versions`.
    """
    cells, texts = submission.cells, _Texts(submission, release)
    skeleton = [cell for cell in release.cells if "nbgrader" in cell.metadata]
    keys, remarks = match(cells, skeleton) if cells else ([], [])
    own = [cell.id for cell in skeleton if metadata_of(cell).grade or metadata_of(cell).solution]
    if any(cell.source.strip() for cell in cells) and not set(own) & set(keys):
        remarks = [Remark("another_notebook")]
    skeleton = _in_students_order(skeleton, keys)
    placed = _Placed(skeleton, versions, texts)
    for submitted, key, anchor in zip(cells, keys, _anchors(skeleton, keys), strict=True):
        placed.add(submitted, key, anchor)
    notebook = nbformat.v4.new_notebook(metadata=json.loads(json.dumps(release.metadata)))
    notebook.cells = placed.cells()
    for number, cell in enumerate(notebook.cells):
        cell.id = metadata_of(cell).get("grade_id", f"own-{number}")
    remarks += placed.remarks
    remarks += [Remark("written_beside", {"cell": name}) for name in _beside(notebook, release)]
    return notebook, remarks


class _Placed:
    """Submitted cells among the released ones: what is an answer, and what stands above a cell and behind it."""

    def __init__(
        self,
        skeleton: Sequence[NotebookNode],
        versions: Mapping[str, Collection[str]],
        texts: _Texts,
    ) -> None:
        self.remarks: list[Remark] = []
        self._skeleton, self._versions, self._texts = skeleton, versions, texts
        self._known = {cell.id: cell for cell in skeleton}
        answers = filter(is_answer_cell, skeleton)
        self._names = {name for cell in answers for name in defined(cell.source)}
        self._first: dict[str, SubmittedCell] = {}
        self._above: dict[str, list[NotebookNode]] = {}
        self._behind: dict[str | None, list[NotebookNode]] = {}

    def add(self, submitted: SubmittedCell, key: str | None, anchor: str | None) -> None:
        """Place a cell; key: the released one that it is; anchor: the one behind which it runs if it is none."""
        if key is None:
            self._stand_behind(anchor, submitted)
            return
        released, is_first = self._known[key], key not in self._first
        self._first.setdefault(key, submitted)
        changed = _is_changed(released, submitted, self._versions.get(key, ()))
        if is_first and changed and metadata_of(released).grade:
            self.remarks.append(Remark("check_changed", {"cell": key}))
        if _is_of_course(released):
            # an answer may have been typed into a check, whatever kind of cell it has become
            source = submitted.source
            if changed and self._names & (defined(source) | bound_names(source)):
                self._above.setdefault(key, []).append(nbformat.v4.new_code_cell(source))
        elif is_first and changed:
            self._stand_behind(key, submitted)
        elif not is_first and metadata_of(released).solution:
            self._stand_behind(anchor, submitted)

    def _stand_behind(self, key: str | None, submitted: SubmittedCell) -> None:
        self._behind.setdefault(key, []).append(_own_cell(submitted, self._texts))

    def cells(self) -> list[NotebookNode]:
        """All cells, in the order in which they run."""
        found = list(self._behind.get(None, []))
        for cell in self._skeleton:
            found += self._above.get(cell.id, [])
            found.append(_released_cell(cell, self._first.get(cell.id), self._texts))
            found += self._behind.get(cell.id, [])
        return found


def _beside(notebook: NotebookNode, release: NotebookNode) -> Iterator[str]:
    """The written questions that are as handed out while cells of the student's own stand beside them."""
    texts = {cell.id: cell.source for cell in release.cells if cell.cell_type == "markdown"}
    cells = notebook.cells
    for place, cell in enumerate(cells):
        if not is_written_question(cell) or not _is_same(cell.source, texts[cell.id]):
            continue
        beside = [
            *itertools.takewhile(_is_of_student, reversed(cells[:place])),
            *itertools.takewhile(_is_of_student, cells[place + 1 :]),
        ]
        # texts between tasks are released, too, and have no marks
        if any(not _is_same(own.source, "", *texts.values()) for own in beside):
            yield cell.id


def _is_of_course(cell: NotebookNode) -> bool:
    """Whether a cell is the course's own code, for which a student's is never taken."""
    return is_grade_cell(cell) or metadata_of(cell).get("grade_id") in CHECK_CELLS


def _is_of_student(cell: NotebookNode) -> bool:
    return "nbgrader" not in cell.metadata


def _is_same(source: str, *others: str) -> bool:
    """Whether a text is one of some others, whatever its spaces and line breaks."""
    return cell_digest(source) in map(cell_digest, others)
