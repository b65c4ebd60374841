"""Every version of an exercise's locked code cells that was ever released, by digest.

A check that an instructor corrects differs from the one in submissions handed in before; so that no
student is told to have changed it, what was released is remembered in solutions/released/. Under
STRICT stand those versions of grade cells whose notebooks say in which data type to compute: older ones
leave it open, so float32 is tolerated there (see `compare.judge`).
"""

from __future__ import annotations

import json
from pathlib import Path

from nbformat import NotebookNode

from autograder.course import Exercise
from autograder.exercises import STRICT, cell_digest
from autograder.files import write_whole


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
            digests = known.setdefault(own.grade_id, [])
            if (digest := cell_digest(cell.source)) not in digests:
                digests.append(digest)
            if own.grade and digest not in known.setdefault(STRICT, []):
                known[STRICT].append(digest)
    if json.dumps(known) != before:
        write_whole(_record(exercise), json.dumps(known, indent=1, sort_keys=True) + "\n")
