"""What grading an exercise in a class needs: the release, the class's seed, and what is expected.

A paper is plain data, so that it can travel to where submissions are examined.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import secrets
from pathlib import Path

from autograder import reference
from autograder.book_index import book_sections, book_url
from autograder.build.generate import grade_cells, inputs_digest, released, released_grade_cells
from autograder.build.released_versions import released_versions
from autograder.catalogue import ROOT, definitions, mistakes, sections
from autograder.errors import ExerciseError
from autograder.grade.sanitize import what_it_asks

GRADERS = (
    "display/cleaning",
    "grade/answer_key",
    "grade/examine",
    "grade/sanitize",
    "grade/submission",
    "kernels/sandbox",
    "kernels/student_kernel",
    "reference",
    "runtime/autotest",
    "text",
)


def grader_digest(exercise: str) -> str:
    """A digest of everything that a grade depends on, but for the submission."""
    digest = hashlib.sha256(inputs_digest(exercise).encode())
    for name in GRADERS:
        digest.update((ROOT / "autograder" / f"{name}.py").read_bytes())
    return digest.hexdigest()


def _write_secret(path: Path, content: object) -> None:
    """Write JSON that only its owner may read; whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".new")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(content, file)
    aside.replace(path)


def class_seed(exercise: str, folder: Path, new: bool = False) -> list[int]:
    """The secret seed of an exercise in this class, drawn once and kept beside the gradebook."""
    path = folder / "seeds.json"
    seeds = json.loads(path.read_text()) if path.exists() else {}
    if new or exercise not in seeds:
        seeds[exercise] = [secrets.randbits(32) for _ in range(8)]
        _write_secret(path, seeds)
    return seeds[exercise]


@functools.lru_cache(maxsize=32)
def _values(exercise: str, path: Path, seed: tuple[int, ...], made_from: str) -> dict:
    """The reference's values for a class, kept in a file; made_from: a digest of what they depend on."""
    stamp = hashlib.sha256(f"{made_from} {seed}".encode()).hexdigest()
    try:
        kept = json.loads(path.read_text())
        if kept["stamp"] == stamp:
            return kept["values"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    seeds = [[*seed, number] for number in range(reference.DRAWS)]
    values = reference.in_own_process(exercise, grade_cells(exercise), seeds)
    _write_secret(path, {"stamp": stamp, "values": values})
    return values


def expected_values(exercise: str, folder: Path) -> dict:
    """Expected values of every line of an exercise for this class, from the reference process.

    Raises ExerciseError when the released exercise isn't the one in solutions/.
    """
    current, handed_out = grade_cells(exercise), released_grade_cells(exercise)
    for name in sorted(set(current) | set(handed_out)):
        pair = (current.get(name), handed_out.get(name))
        if None in pair or what_it_asks(pair[0]) != what_it_asks(pair[1]):
            raise ExerciseError(
                f"{exercise}, cell {name}: solutions/{exercise}.py has changed since exercises/ was built. "
                "Run `python -m autograder build`, or restore the solution."
            )
    seed = tuple(class_seed(exercise, folder))
    path = folder.resolve() / "expected" / f"{exercise}.json"
    return _values(exercise, path, seed, inputs_digest(exercise))


def paper(exercise: str, folder: Path) -> dict:
    """An exercise's paper for the class whose gradebook lies in a folder.

    Returns {"exercise", "release", "versions": of its locked cells, "values", "catalogue": mistakes by name, "answers": the names that
    each answer cell defines, "sections": the book's, by label, "section_of": the label for each grade
    cell, "grader": a digest of all that grades depend on}; a CourseError is an instructor's error.
    """
    release = released(exercise)
    return {
        "exercise": exercise,
        "release": release,
        "versions": released_versions(exercise),
        "values": expected_values(exercise, folder),
        "catalogue": {mistake.name: vars(mistake) for mistake in mistakes(exercise)},
        "answers": {
            cell.metadata.nbgrader.grade_id: list(definitions(cell.source))
            for cell in release.cells
            if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
        },
        "sections": {
            label: {"place": section.place, "link": section.link(book_url())}
            for label, section in book_sections().items()
        },
        "section_of": sections(exercise),
        "grader": grader_digest(exercise),
    }
