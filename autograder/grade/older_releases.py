"""Submissions of releases whose statements say less than today's: they aren't charged for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nbformat import NotebookNode

from autograder.exercises import STRICT, cell_digest, is_grade_cell, metadata_of
from autograder.grade.matching import match
from autograder.grade.submission import Submission


def is_lenient(
    submission: Submission, release: NotebookNode, versions: Mapping[str, Collection[str]]
) -> bool:
    """Whether a submission's grade cells are of a release that leaves the data type of results open.

    Only cells that are taken for a check count, not further ones under its name. Whoever puts cells of an older
    release in place of all checks can't be told from who has that release: a remark says where it
    has made a difference. versions: from `released_versions`.
    """
    checks = [cell for cell in release.cells if is_grade_cell(cell)]
    names = [metadata_of(cell).grade_id for cell in checks]
    strict = set(versions.get(STRICT, ()))
    older = {name: set(versions.get(name, ())) - strict for name in names}
    keys, _ = match(submission.cells, checks)
    first = dict(reversed(list(zip(keys, submission.cells, strict=True))))
    return any(cell_digest(first[name].source) in older[name] for name in names if name in first)
