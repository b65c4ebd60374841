"""Every version of an exercise's locked code cells that was ever released, by digest.

A check that an instructor corrects differs from the one in submissions handed in before; so that no
student is told to have changed it, what was released is remembered in solutions/released/. Beside a
grade cell's versions stand those that ask for what a later statement has added (see
`grade.older_releases`).
"""

from __future__ import annotations

import json
from pathlib import Path

from nbformat import NotebookNode

from autograder.course import Exercise
from autograder.exercises import added_key, cell_digest
from autograder.files import write_whole
from autograder.runtime.grade_cell import parse_cell


def _record(exercise: Exercise) -> Path:
    return exercise.root / "solutions" / "released" / f"{exercise.name}.json"


def released_versions(exercise: Exercise) -> dict[str, list[str]]:
    """The digests of all versions of an exercise's locked code cells: grade_id -> digests."""
    path = _record(exercise)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def remember_released(exercise: Exercise, release: NotebookNode) -> None:
    """Add the versions in a released notebook; the file is written only if there is a new one."""
    known = released_versions(exercise)
    before = json.dumps(known)
    for cell in release.cells:
        own = cell.metadata.get("nbgrader")
        if own and cell.cell_type == "code" and not own.solution:
            checks = parse_cell(cell.source).checks if own.grade else []
            added = [check.says.added for check in checks if check.says and check.says.added]
            for name in [own.grade_id, *(added_key(own.grade_id, one) for one in added)]:
                digests = known.setdefault(name, [])
                if (digest := cell_digest(cell.source)) not in digests:
                    digests.append(digest)
    if json.dumps(known) != before:
        write_whole(_record(exercise), json.dumps(known, indent=1, sort_keys=True) + "\n")
