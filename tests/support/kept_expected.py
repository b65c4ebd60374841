"""What the grade cells of an exercise expect, kept until something changes that it depends on.

It takes seconds to minutes an exercise: all mistakes are evaluated on all draws.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from autograder.build.generate import answers_stamp
from autograder.course import Exercise
from autograder.exercises import grade_cells, released
from autograder.expected import ExpectedCell
from autograder.files import digest_of, write_whole
from autograder.programs import code_only
from autograder.reference import expected_cell, prepare_process
from tests.support.course import COURSE, DRAWS

FOLDER = COURSE.root / "_build" / "expected"


def evaluating_code() -> list[str]:
    """The code that evaluates; the stamp of an exercise's answers covers what is evaluated."""
    return [
        code_only(path.read_text(encoding="utf-8"))
        for path in sorted((COURSE.root / "autograder").glob("*.py"))
    ]


def expected_cells(exercise: Exercise) -> dict[str, ExpectedCell]:
    """What an exercise's grade cells expect on DRAWS, by grade_id."""
    prepare_process()
    sources = grade_cells(released(exercise))
    depends_on = [answers_stamp(exercise, sources), evaluating_code(), DRAWS]
    path = FOLDER / f"{exercise.name}-{digest_of(depends_on)[:16]}.json"
    if not path.is_file():
        made = {
            name: asdict(expected_cell(exercise, name, source, DRAWS, for_release=True))
            for name, source in sources.items()
        }
        for old in FOLDER.glob(f"{exercise.name}-*.json"):
            old.unlink()
        write_whole(path, json.dumps(made))
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {name: ExpectedCell.read(cell) for name, cell in kept.items()}
