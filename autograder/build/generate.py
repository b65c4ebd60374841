"""Exercises from solutions: evaluated, checked, put together aside, then swapped in.

In: solutions/ and its catalogues. Out: exercises/, and in course/ what is held back. A generated
notebook records in its metadata what it says (so that edits show), what it was made from, and what its
answers were made from. A build compares these, so nothing but the notebooks themselves has to be kept
between builds.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder import embedding
from autograder.book_index import book_url
from autograder.build import instantiate
from autograder.build.checks import checked_cells
from autograder.build.overview import without_overview
from autograder.build.released_versions import remember_released
from autograder.build.source_notebook import (
    BUILT_SO_FAR_FILE,
    CHECKER_NOTE,
    built_so_far,
    for_nbgrader,
    is_held_back,
    source_notebook,
    unanswered_cells,
    words_for_students,
)
from autograder.catalogue import mistake_answers, mistakes, sections
from autograder.course import Course, Exercise
from autograder.dependencies import Dependencies
from autograder.errors import ExerciseError, OutputError
from autograder.exercises import baked_answers, copied, grade_cells, released
from autograder.files import digest_of, digest_of_files, write_whole
from autograder.instructor_settings import Settings
from autograder.nbgrader_adapter import release_steps
from autograder.package import PACKAGE
from autograder.programs import VERSIONED, code_only, plain_version
from autograder.runtime.grade_cell import parse_cell

# the visible draw first, then some for the checks
SEEDS = [*instantiate.VISIBLE_SEEDS, *([number] for number in range(1, 8))]


def answers_stamp(exercise: Exercise, cells: dict[str, str], kept: Path | None = None) -> str:
    """A digest of everything that the answers of an exercise depend on, and of no words.

    cells: its grade cells without answers; kept: a file where it is kept while nothing has changed.
    """
    program, used = exercise.program(), Dependencies(exercise.root)
    used.add_program(exercise.solution, program, "solutions")
    known = mistakes(exercise)
    parts: dict[str, Any] = {
        "programs": used.key(),
        "cells": {name: repr(parse_cell(text).asks()) for name, text in cells.items()},
        "cases": {
            name: [check.says is None or check.says.case for check in parse_cell(text).checks]
            for name, text in cells.items()
        },
        "relations": {name: repr(parse_cell(text).relations) for name, text in cells.items()},
        "versions": [
            plain_version(package) for package in VERSIONED if package in exercise.packages
        ],
        "seeds": SEEDS,
    }

    seen = ""
    if kept:
        # to leave words out, and to make the mistakes' programs, takes longer than all the rest
        catalogue = exercise.catalogue.read_text(encoding="utf-8")
        seen = digest_of([parts, program, catalogue, _code_of_package()])
        with contextlib.suppress(OSError, ValueError):
            before, stamp = kept.read_text(encoding="utf-8").split()
            if before == seen:
                return stamp
    parts["mistakes"] = [
        [m.name, m.cell, {k: code_only(v) for k, v in mistake_answers(program, m).items()}]
        for m in known
    ]
    parts["runtime"] = {name: code_only(text) for name, text in embedding.sources().items()}
    stamp = digest_of(parts)[:16]
    if kept:
        write_whole(kept, f"{seen} {stamp}", mode=0o600)
    return stamp


@functools.cache
def _code_of_package() -> str:
    """A digest of this package's code, with all its words."""
    return digest_of_files(PACKAGE.rglob("*.py"), PACKAGE)


def content_digest(notebook: NotebookNode) -> str:
    """A digest of what a generated notebook says, without its own record of it."""
    cells = [[cell.id, cell.cell_type, cell.source, cell.metadata] for cell in notebook.cells]
    return digest_of(cells)[:16]


def _source_stamp(exercise: Exercise, source: NotebookNode) -> str:
    """A digest of what a notebook is put together from, but for the titles of the book's sections."""
    for_students = words_for_students(exercise)
    mistakes_without_sections = {
        name: {key: text for key, text in mistake.items() if key != "section"}
        for name, mistake in for_students["mistakes"].items()
    }
    cells = [
        [cell.id, cell.cell_type, cell.metadata]
        + ([] if cell.source.startswith(CHECKER_NOTE) else [without_overview(cell.source)])
        for cell in source.cells
    ]
    words = [mistakes_without_sections, for_students["ways"]]
    return digest_of([cells, embedding.packed_sources(), words, plain_version("nbgrader")])[:16]


def stamps(exercise: Exercise, settings: Settings, hold_back: bool = False) -> tuple[str, str]:
    """What a generated notebook was made from: digests of its text and of its answers."""
    source = source_notebook(exercise, settings, hold_back)
    return _source_stamp(exercise, source), answers_stamp(exercise, unanswered_cells(source))


def _read(path: Path) -> NotebookNode | None:
    """A notebook, or None for a file that isn't one."""
    try:
        return nbformat.read(path, as_version=4)
    # nbformat raises AttributeError for JSON that is no object
    except (OSError, ValueError, AttributeError, nbformat.ValidationError):
        return None


def _holds_back(exercise: Exercise) -> bool:
    """Whether the exercise as it was built last takes what earlier ones built from a file."""
    present = _read(exercise.notebook)
    return present is not None and is_held_back(present)


def _record(notebook: NotebookNode | None) -> NotebookNode:
    return notebook.metadata.get("autotest", NotebookNode()) if notebook else NotebookNode()


def _leads_elsewhere(record: NotebookNode) -> bool:
    """Whether a notebook's links to sections don't lead to the book, whose address is known here."""
    return bool(book_url()) and record.get("book") != book_url()


def refuse_to_lose_edits(course: Course) -> None:
    """Raise ExerciseError, naming the file, when exercises/ holds anything that a build didn't make."""
    for path in sorted((course.root / "exercises").rglob("*")):
        if path.is_dir() or ".ipynb_checkpoints" in path.parts:
            continue
        notebook = _read(path)
        if notebook is None or _record(notebook).get("digest") != content_digest(notebook):
            raise ExerciseError(
                f"{path.relative_to(course.root)} holds work that a build would lose. Move it (students' "
                "work belongs into work/), or delete it, then build again. Nothing has been changed."
            )


def sources_folder(course: Course) -> Path:
    """Where nbgrader looks for source notebooks."""
    return course.root / course.config.CourseDirectory.source_directory


def write_sources(course: Course, exercises: Sequence[Exercise]) -> None:
    """Write source notebooks for nbgrader's own commands."""
    for exercise in exercises:
        source = source_notebook(exercise, course.settings, _holds_back(exercise))
        notebook = for_nbgrader(exercise, source)
        folder = sources_folder(course) / exercise.name
        folder.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / f"{exercise.name}.ipynb")


def write_missing_sources(course: Course, exercises: Sequence[Exercise]) -> None:
    """Write the source notebooks that aren't there: formgrader lists the exercises that have one."""
    folder = sources_folder(course)
    write_sources(course, [e for e in exercises if not (folder / e.name).is_dir()])


def _present_answers(notebook: NotebookNode) -> instantiate.Answers:
    """The check lines of a generated notebook: grade_id -> expression -> text."""
    baked = baked_answers(notebook)
    return {
        name: {
            check.expression: instantiate.check_line(
                check.expression, check.points, baked[name][check.expression]
            )
            for check in parse_cell(source).checks
        }
        for name, source in grade_cells(notebook).items()
    }


def generate(
    course: Course, exercise: Exercise, source: NotebookNode, answers: instantiate.Answers
) -> NotebookNode:
    """The notebook that students get, from a source notebook and the text of its checks."""
    notebook = copied(source)
    instantiate.put_answers(notebook, answers)
    resources = {"nbgrader": {"notebook": exercise.name, "assignment": exercise.name}}
    for step in release_steps(course.config):
        notebook, resources = step(notebook, resources)
    return notebook


def unexplained_cells(exercise: Exercise, cells: Mapping[str, str]) -> list[str]:
    """Sentences about grade cells of which a student who fails them is told too little.

    cells: grade_id -> source. A cell on what was trained has no known mistakes by its nature.
    """
    place, known = f"solutions/catalogue/{exercise.name}.md", {m.cell for m in mistakes(exercise)}
    sentences = []
    for name, source in cells.items():
        if name not in sections(exercise):
            sentences.append(f"{place}: no heading gives a section to read again for {name}.")
        trained = all(check.agreement for check in parse_cell(source).checks)
        if name not in known and not trained:
            sentences.append(f"{place}: no mistake is meant for {name}, so it gives no hints.")
    return sentences


def build(
    course: Course,
    exercises: Sequence[Exercise] | None = None,
    force: bool = False,
    hold_back: bool | None = None,
) -> list[Exercise]:
    """Generate exercises/ from solutions/; returns the exercises that were built anew.

    hold_back: leave what earlier exercises built out of the notebooks, so that it stands only where
    `held_back_file` says; None: as each was built last. Everything is checked before anything is
    written: points, autotests that a constant would pass, mistakes that nothing catches. Raises
    CatalogueError or ExerciseError, and changes nothing, when a check fails or when exercises/ holds
    edits.
    """
    refuse_to_lose_edits(course)
    exercises = exercises or course.exercises()
    held = {e: _holds_back(e) if hold_back is None else hold_back for e in exercises}
    stale: dict[Exercise, instantiate.Answers | None] = {}
    for exercise in exercises:
        made_from, answers = stamps(exercise, course.settings, held[exercise])
        present = _read(exercise.notebook) if exercise.notebook.exists() else None
        record = _record(present)
        same_text = record.get("made_from") == made_from and not _leads_elsewhere(record)
        if not force and same_text and record.get("answers") == answers:
            continue
        same_answers = present and not force and record.get("answers") == answers
        stale[exercise] = _present_answers(present) if present and same_answers else None

    sources = {e: source_notebook(e, course.settings, held[e]) for e in stale}
    missing = {e: unanswered_cells(sources[e]) for e, answers in stale.items() if answers is None}
    # threads only wait for processes here: ast.parse in several threads can raise SystemError
    # (CPython issue 106905, up to 3.11.8)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        found = threads.map(lambda e: checked_cells(e, missing[e], SEEDS), missing)
        evaluated = dict(zip(missing, found, strict=True))
    for exercise in missing:
        for sentence in unexplained_cells(exercise, missing[exercise]):
            print(sentence, file=sys.stderr)
    notebooks = {
        exercise: generate(
            course,
            exercise,
            sources[exercise],
            instantiate.answers(evaluated[exercise]) if answers is None else answers,
        )
        for exercise, answers in stale.items()
    }
    _swap_in(course, notebooks)
    for exercise in exercises:
        if held[exercise] and (program := built_so_far(exercise)):
            write_whole(held_back_file(course, exercise), program)
    return list(notebooks)


def held_back_file(course: Course, exercise: Exercise) -> Path:
    """Where a build that holds back writes what an exercise uses of earlier ones."""
    return course.home / "built_so_far" / exercise.name / BUILT_SO_FAR_FILE


def _swap_in(course: Course, notebooks: dict[Exercise, NotebookNode]) -> None:
    """Write notebooks aside, all of them, then move each into its place."""
    if not notebooks:
        return
    place = course.root / "exercises"
    try:
        place.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place, prefix=".new-") as aside:
            for exercise, notebook in notebooks.items():
                folder = Path(aside) / exercise.name
                folder.mkdir()
                nbformat.write(notebook, folder / f"{exercise.name}.ipynb")
            for exercise in notebooks:
                old = place / exercise.name
                replaced = Path(aside) / f"{exercise.name}.old"
                if exercise.notebook.is_file():
                    remember_released(exercise, released(exercise))
                if old.exists():
                    old.rename(replaced)
                try:
                    shutil.move(Path(aside) / exercise.name, old)
                except OSError:
                    if replaced.exists():
                        replaced.rename(old)
                    raise
                remember_released(exercise, released(exercise))
    except OSError as error:
        raise OutputError(
            f"{place} can't be written: {error.strerror}. Make it writable and build again; every "
            "exercise in it is whole, as it was or as it is built now."
        ) from error
