"""Submissions of releases whose statements say less than today's: they aren't charged for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nbformat import NotebookNode

from autograder.exercises import STRICT, cell_digest, is_grade_cell, metadata_of
from autograder.grade.submission import Submission


def is_lenient(
    submission: Submission, release: NotebookNode, versions: Mapping[str, Collection[str]]
) -> bool:
    """Whether a submission's grade cells are of a release that leaves the data type of results open.

    versions: from `released_versions`.
    """
    names = [metadata_of(cell).grade_id for cell in release.cells if is_grade_cell(cell)]
    strict = set(versions.get(STRICT, ()))
    older = {name: set(versions.get(name, ())) - strict for name in names}
    return any(
        cell_digest(cell.source) in older.get(cell.grade_id or "", ()) for cell in submission.cells
    )
