"""The answer key: what grading one exercise in one class needs, and nothing about how it is said.

It is plain data, so that it can travel to the process or machine where submissions are examined.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import reference
from autograder.build.generate import answers_stamp
from autograder.build.released_versions import released_versions
from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.catalogue import definitions, mistakes
from autograder.course import Course, Exercise
from autograder.errors import ExerciseError
from autograder.exercises import given, grade_cells, is_answer_cell, released
from autograder.files import digest_of, write_whole
from autograder.reference import ExpectedCell, expected_cells
from autograder.runtime.grade_cell import parse_cell

SEED_INTEGERS = 8
# cells of the release whose code runs, but for answers and for the checker that students need
NOT_RUN = ("checker",)


@dataclass(frozen=True)
class AnswerKey:
    """What a submission to an exercise is graded with.

    release: the notebook that students got; cells: what is expected, by grade cell; mistake_cells: by
    known mistake, the grade cell that is meant to catch it; mistake_functions: the answer that it is a
    version of; answers: by answer cell, the names that it
    defines; versions: by locked cell, digests of all that were ever released; digest: of everything here that a verdict depends on.
    """

    exercise: str
    release: NotebookNode
    cells: Mapping[str, ExpectedCell]
    mistake_cells: Mapping[str, str]
    mistake_functions: Mapping[str, str]
    answers: Mapping[str, tuple[str, ...]]
    versions: Mapping[str, list[str]]
    digest: str

    def to_json(self) -> str:
        """As text, for another process."""
        cells = {name: asdict(cell) for name, cell in self.cells.items()}
        return json.dumps({**vars(self), "cells": cells})

    @staticmethod
    def from_json(text: str) -> AnswerKey:
        """From `to_json`."""
        data = json.loads(text)
        cells = {name: ExpectedCell.read(cell) for name, cell in data["cells"].items()}
        release = nbformat.from_dict(data["release"])
        return AnswerKey(**data | {"cells": cells, "release": release})


def class_seed(course: Course, exercise: Exercise, new: bool = False) -> list[int]:
    """The secret seed of an exercise in this class, drawn once and kept beside the gradebook."""
    path = course.home / "seeds.json"
    seeds = json.loads(path.read_text()) if path.exists() else {}
    if new or exercise.name not in seeds:
        seeds[exercise.name] = [secrets.randbits(32) for _ in range(SEED_INTEGERS)]
        write_whole(path, json.dumps(seeds), mode=0o600)
    return seeds[exercise.name]


@dataclass(frozen=True)
class _Job:
    """What is to be evaluated for one exercise, and the file in which it is kept.

    unanswered: grade cells without answers; made_from: a digest of what the values depend on.
    """

    exercise: Exercise
    unanswered: Mapping[str, str]
    seed: tuple[int, ...]
    path: Path
    made_from: str

    @staticmethod
    def of(course: Course, exercise: Exercise) -> _Job:
        """The job of an exercise in a class; ExerciseError when another release was handed out."""
        unanswered = unanswered_cells(source_notebook(exercise, course.settings))
        _refuse_another_release(exercise, unanswered, grade_cells(released(exercise)))
        seed = tuple(class_seed(course, exercise))
        path = course.home.resolve() / "expected" / f"{exercise.name}.json"
        made_from = digest_of([answers_stamp(exercise, unanswered), seed])
        return _Job(exercise, unanswered, seed, path, made_from)

    def kept(self) -> dict[str, ExpectedCell] | None:
        """What the file holds, if it was made from the same."""
        try:
            kept = json.loads(self.path.read_text())
            if kept["made_from"] == self.made_from:
                return {name: ExpectedCell.read(cell) for name, cell in kept["cells"].items()}
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            pass
        return None

    def evaluate(self) -> None:
        """Evaluate in a process of its own, and keep the values where only their owner may read."""
        seeds = [[*self.seed, number] for number in range(reference.DRAWS)]
        cells = expected_cells(self.exercise, self.unanswered, seeds)
        stored = {name: asdict(cell) for name, cell in cells.items()}
        kept = json.dumps({"made_from": self.made_from, "cells": stored})
        write_whole(self.path, kept, mode=0o600)


def _refuse_another_release(
    exercise: Exercise, current: Mapping[str, str], handed_out: Mapping[str, str]
) -> None:
    """Raise ExerciseError when the released exercise isn't the one in solutions/."""
    for name in sorted(set(current) | set(handed_out)):
        pair = (current.get(name), handed_out.get(name))
        if None in pair or parse_cell(pair[0]).asks() != parse_cell(pair[1]).asks():
            raise ExerciseError(
                f"{exercise.name}, cell {name}: solutions/{exercise.name}.py, or a setting in "
                "nbgrader_config.py, has changed since exercises/ was built. Run `python -m autograder "
                "build`, or restore it."
            )


def _code_that_runs(release: NotebookNode) -> list[str]:
    """The locked code of a release that students' kernels execute."""
    return [
        cell.source
        for cell in release.cells
        if cell.cell_type == "code"
        and not given(cell).get("grade")
        and not given(cell).get("solution")
        and given(cell).get("grade_id") not in NOT_RUN
    ]


def answer_key(course: Course, exercise: Exercise) -> AnswerKey:
    """An exercise's answer key for a class; ExerciseError or CatalogueError for an instructor's error."""
    return answer_keys(course, [exercise])[exercise]


def answer_keys(course: Course, exercises: Sequence[Exercise]) -> dict[Exercise, AnswerKey]:
    """The answer keys of several exercises; what isn't kept yet is evaluated side by side."""
    jobs = [_Job.of(course, exercise) for exercise in exercises]
    missing = [job for job in jobs if job.kept() is None]
    # threads only wait for processes here: ast.parse in several threads can raise SystemError
    # (CPython issue 106905, up to 3.11.8)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(_Job.evaluate, missing))
    return {job.exercise: _answer_key(job) for job in jobs}


def _answer_key(job: _Job) -> AnswerKey:
    exercise, cells = job.exercise, job.kept()
    release = released(exercise)
    mistake_cells = {mistake.name: mistake.cell for mistake in mistakes(exercise)}
    mistake_functions = {mistake.name: mistake.function for mistake in mistakes(exercise)}
    answers = {
        given(cell).grade_id: tuple(definitions(cell.source))
        for cell in release.cells
        if is_answer_cell(cell)
    }
    content = [
        {name: asdict(cell) for name, cell in cells.items()},
        mistake_cells,
        mistake_functions,
        answers,
        _code_that_runs(release),
    ]
    versions = released_versions(exercise)
    return AnswerKey(
        exercise.name,
        release,
        cells,
        mistake_cells,
        mistake_functions,
        answers,
        versions,
        digest_of(content),
    )
