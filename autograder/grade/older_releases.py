"""Submissions of releases whose statements ask for less than today's: they aren't charged for the rest.

What the first release asks is charged to everybody, however its lines are corrected later. A line that
tests what a later statement adds has a name for it, `says("...", added="...")`, and counts only for
submissions whose own check asks for that, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from nbformat import NotebookNode

from autograder.exercises import added_key, cell_digest, is_grade_cell
from autograder.grade.matching import match
from autograder.grade.result import CellResult
from autograder.grade.submission import Submission
from autograder.runtime.grade_cell import parse_cell


def not_asked(
    submission: Submission, release: NotebookNode, versions: Mapping[str, Collection[str]]
) -> set[tuple[str, str]]:
    """The lines, by grade cell and expression, that only later statements than a submission's ask for.

    Only cells that are taken for a check count, not further ones under its name. Whoever puts a cell of an older
    release in place of a check can't be told from who has that release: a remark says where it has made a
    difference. versions: from `released_versions`.
    """
    checks = [cell for cell in release.cells if is_grade_cell(cell)]
    keys, _ = match(submission.cells, checks)
    first = dict(reversed(list(zip(keys, submission.cells, strict=True))))
    found = set()
    for name, check in ((cell.id, c) for cell in checks for c in parse_cell(cell.source).checks):
        if check.says and check.says.added and name in first:
            digest = cell_digest(first[name].source)
            with_it = versions.get(added_key(name, check.says.added), ())
            if digest in versions.get(name, ()) and digest not in with_it:
                found.add((name, check.expression))
    return found


def without_charge(cell: CellResult, lines: Collection[tuple[str, str]]) -> CellResult:
    """A grade cell with the points of these lines, unless none of it passes: then there is no answer."""
    if not any(line.passed for line in cell.lines):
        return cell
    free = (
        replace(line, difference=None, mistake=None, by_line=False)
        if (cell.grade_id, line.expression) in lines
        else line
        for line in cell.lines
    )
    return replace(cell, lines=tuple(free))
