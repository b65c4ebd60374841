"""The answer key: what grading one exercise in one class needs, and nothing about how it is said.

It is plain data, so that it can travel to the process or machine where submissions are examined.
"""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import nbformat
from nbformat import NotebookNode

from autograder import reference
from autograder.build.generate import answers_stamp
from autograder.build.released_versions import released_versions
from autograder.build.source_notebook import (
    BUILT_SO_FAR_FILE,
    built_so_far,
    is_held_back,
    source_notebook,
    unanswered_cells,
)
from autograder.catalogue import definitions, mistakes
from autograder.course import Course, Exercise
from autograder.dependencies import answers_used
from autograder.errors import ExerciseError
from autograder.exercises import (
    CHECK_CELLS,
    given,
    grade_cells,
    graded_answers,
    is_answer_cell,
    released,
)
from autograder.files import digest_of, write_whole
from autograder.grade.seeds import FreshSeed, class_seed, fresh_seed
from autograder.grade.submission import Submission
from autograder.instructor_settings import CONFIG
from autograder.reference import ExpectedCell, Under, expected_cells
from autograder.right_versions import right_versions, specified_names
from autograder.runtime.grade_cell import parse_cell

# importing the programs, and torch if they use it, takes seconds, so a process evaluates several seeds
JOBS_IN_A_PROCESS = 8
Found = TypeVar("Found")


@dataclass(frozen=True)
class AnswerKey:
    """What a submission to an exercise is graded with.

    release: the notebook that students got; cells: what is expected, by grade cell; mistake_cells: by
    known mistake, the grade cell that is meant to catch it; mistake_functions: the answer that it is a
    version of; answers: by answer cell, the names that it defines; graded: by grade cell, the answers
    that it grades; uses: by answer, those of the answers that the reference uses in it; right_versions:
    by answer, an expression that gives a right version of it; packages: what the exercise counts on
    beside Python; versions: by locked cell, digests of all
    that were ever released; files: what lies in the folder of a student's kernel, by name, whatever
    the student has handed in under that name; digest: of everything here that a verdict depends on.
    """

    exercise: str
    release: NotebookNode
    cells: Mapping[str, ExpectedCell]
    mistake_cells: Mapping[str, str]
    mistake_functions: Mapping[str, str]
    answers: Mapping[str, tuple[str, ...]]
    graded: Mapping[str, tuple[str, ...]]
    uses: Mapping[str, tuple[str, ...]]
    right_versions: Mapping[str, str]
    packages: tuple[str, ...]
    versions: Mapping[str, list[str]]
    files: Mapping[str, str]
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
        packages = tuple(data["packages"])
        return AnswerKey(**data | {"cells": cells, "release": release, "packages": packages})


@dataclass(frozen=True)
class _Job:
    """What is to be evaluated for one exercise under one seed, and the file in which it is kept.

    unanswered: grade cells without answers; graded: the answers that each grades; specified: the names
    that statements specify; stamp: a digest of what the values depend on but the seed.
    """

    exercise: Exercise
    unanswered: Mapping[str, str]
    graded: Mapping[str, tuple[str, ...]]
    specified: frozenset[str]
    stamp: str
    seed: tuple[int, ...]
    path: Path

    @staticmethod
    def of(course: Course, exercise: Exercise, seed: Sequence[int]) -> _Job:
        """The job of an exercise in a class; ExerciseError when another release was handed out."""
        source = source_notebook(exercise, course.settings)
        unanswered = unanswered_cells(source)
        graded = graded_answers(source)
        _refuse_another_release(exercise, unanswered, grade_cells(released(exercise)))
        stamp = answers_stamp(exercise, unanswered)
        path = course.home.resolve() / "expected" / f"{exercise.name}.json"
        until = [e for e in course.exercises() if e.chapter <= exercise.chapter]
        specified = frozenset(specified_names(map(released, until)))
        return _Job(exercise, unanswered, graded, specified, stamp, tuple(seed), path)

    def under(self, fresh: FreshSeed) -> _Job:
        """The same under another seed than the class's."""
        folder, name = ("own", fresh.student) if fresh.student else ("rounds", fresh.round)
        path = self.path.with_suffix("") / folder / f"{name}.json"
        return replace(self, seed=fresh.integers, path=path)

    @functools.cached_property
    def right_versions(self) -> dict[str, str]:
        """By answer, an expression that gives a right version of it under this seed."""
        return right_versions(self.exercise, self.specified, self.seed)

    @property
    def made_from(self) -> str:
        """A digest of all that the values depend on."""
        return digest_of([self.stamp, self.seed, self.right_versions])

    def file(self) -> dict[str, Any]:
        """What the file holds: made_from, cells, and earlier: what the same cells were made from before.

        Empty without a whole file.
        """
        try:
            kept = json.loads(self.path.read_text())
            return {"earlier": [], **kept} if {"made_from", "cells"} <= kept.keys() else {}
        except (FileNotFoundError, ValueError, AttributeError, TypeError):
            return {}

    def kept(self) -> dict[str, ExpectedCell] | None:
        """The cells that the file holds, if they were made from the same."""
        kept = self.file()
        if kept.get("made_from") != self.made_from:
            return None
        try:
            return {name: ExpectedCell.read(cell) for name, cell in kept["cells"].items()}
        except (AttributeError, KeyError, TypeError):
            return None

    def keep(self, cells: Mapping[str, ExpectedCell]) -> None:
        """Write the file, which only its owner may read."""
        stored = {name: asdict(cell) for name, cell in cells.items()}
        before, earlier = self.file(), []
        # as text, in which one NaN equals another
        if before and json.dumps(before["cells"]) == json.dumps(stored):
            earlier = [*before["earlier"], before["made_from"]]
        kept = {"made_from": self.made_from, "earlier": earlier, "cells": stored}
        write_whole(self.path, json.dumps(kept), mode=0o600)


def _expected(jobs: Sequence[_Job]) -> list[dict[str, ExpectedCell]]:
    """Evaluate jobs of one exercise in one process."""
    several = [
        Under([[*job.seed, number] for number in range(reference.DRAWS)], job.right_versions)
        for job in jobs
    ]
    return expected_cells(jobs[0].exercise, jobs[0].unanswered, several)


def _evaluate(jobs: Sequence[_Job]) -> None:
    """Evaluate jobs of one exercise in one process, and keep the values."""
    for job, cells in zip(jobs, _expected(jobs), strict=True):
        job.keep(cells)


def _evaluate_missing(jobs: Sequence[_Job]) -> None:
    """Evaluate what isn't kept yet, in processes side by side, with a few jobs of one exercise each."""
    missing: dict[Exercise, list[_Job]] = {}
    # submissions of one round have one job
    for job in {job.path: job for job in jobs}.values():
        if job.kept() is None:
            missing.setdefault(job.exercise, []).append(job)
    _side_by_side(_evaluate, missing.values())


def _side_by_side(
    evaluate: Callable[[Sequence[_Job]], Found], several: Iterable[Sequence[_Job]]
) -> list[Found]:
    """What an evaluation of a few jobs at a time gives; several: jobs, by exercise."""
    batches = [
        jobs[start : start + JOBS_IN_A_PROCESS]
        for jobs in several
        for start in range(0, len(jobs), JOBS_IN_A_PROCESS)
    ]
    # threads only wait for processes here: ast.parse in several threads can raise SystemError
    # (CPython issue 106905, up to 3.11.8)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(evaluate, batches))


def _refuse_another_release(
    exercise: Exercise, current: Mapping[str, str], handed_out: Mapping[str, str]
) -> None:
    """Raise ExerciseError when the released exercise isn't the one in solutions/."""
    for name in sorted(set(current) | set(handed_out)):
        pair = (current.get(name), handed_out.get(name))
        if None in pair or parse_cell(pair[0]).asks() != parse_cell(pair[1]).asks():
            raise ExerciseError(
                f"{exercise.name}, cell {name}: solutions/{exercise.name}.py, or a setting in "
                f"{CONFIG}, has changed since exercises/ was built. Run `python -m autograder "
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
        and given(cell).get("grade_id") not in CHECK_CELLS
    ]


def _complete_release(exercise: Exercise) -> tuple[NotebookNode, dict[str, str]]:
    """The released notebook, and the files that go with it by name.

    What a build has held back stands in its cell again, and in the file for code of the student's own
    that imports it.
    """
    release = released(exercise)
    if not is_held_back(release):
        return release, {}
    program = built_so_far(exercise)
    (cell,) = [cell for cell in release.cells if cell.id == "built_so_far"]
    cell.source = program
    return release, {BUILT_SO_FAR_FILE: program}


def answer_key(course: Course, exercise: Exercise) -> AnswerKey:
    """An exercise's answer key for a class; ExerciseError or CatalogueError for an instructor's error."""
    return AnswerKeys(course).of_class(exercise)


class AnswerKeys:
    """The answer keys of a class: one for each exercise, and those of submissions with a fresh seed.

    A submission's own key is the class's, but for the inputs and what is expected on them.
    """

    def __init__(self, course: Course) -> None:
        self._course = course
        self._jobs: dict[Exercise, _Job] = {}
        self._keys: dict[Exercise, AnswerKey] = {}

    def prepare(self, exercises: Sequence[Exercise]) -> None:
        """Make the class's keys of several exercises side by side."""
        new = {
            exercise: _Job.of(self._course, exercise, class_seed(self._course, exercise.name))
            for exercise in exercises
            if exercise not in self._keys
        }
        _evaluate_missing(list(new.values()))
        self._jobs |= new
        self._keys |= {exercise: _answer_key(job, job.kept()) for exercise, job in new.items()}

    def of_class(self, exercise: Exercise) -> AnswerKey:
        """An exercise's key for the class, made on first use."""
        self.prepare([exercise])
        return self._keys[exercise]

    def _own_job(self, exercise: Exercise, submission: Submission) -> _Job | None:
        self.prepare([exercise])
        job = self._jobs[exercise]
        fresh = fresh_seed(
            self._course, submission.student, exercise.name, submission.digest, job.seed
        )
        return job.under(fresh) if fresh else None

    def evaluate(self, submissions: Sequence[tuple[Exercise, Submission]]) -> None:
        """Evaluate what some submissions' own keys need, several in one process."""
        jobs = [self._own_job(*pair) for pair in submissions]
        _evaluate_missing([job for job in jobs if job is not None])

    def digest(self, exercise: Exercise, submission: Submission) -> str:
        """The digest of the key that a submission is graded with; nothing is evaluated for it."""
        job, digest = self._own_job(exercise, submission), self.of_class(exercise).digest
        return digest_of([digest, job.made_from]) if job else digest

    def earlier_digests(self, exercise: Exercise, submission: Submission) -> list[str]:
        """The digests of a submission's own key under other code, which gave the same values."""
        job, digest = self._own_job(exercise, submission), self.of_class(exercise).digest
        return [digest_of([digest, one]) for one in job.file()["earlier"]] if job else []

    def own(self, exercise: Exercise, submission: Submission) -> AnswerKey | None:
        """The key of a submission with a fresh seed; None for one that is graded with the class's."""
        job = self._own_job(exercise, submission)
        if job is None:
            return None
        _evaluate_missing([job])
        digest = self.digest(exercise, submission)
        return replace(self.of_class(exercise), cells=job.kept(), digest=digest)


def keys_under(
    course: Course,
    exercise: Exercise,
    seeds: Sequence[Sequence[int]],
    advance: Callable[[int], None] | None = None,
) -> list[AnswerKey]:
    """An exercise's answer keys under seeds that are not the class's; nothing of them is kept.

    advance: is told how many more are evaluated, since many take minutes. Raises ExerciseError or
    CatalogueError for an instructor's error.
    """
    job = _Job.of(course, exercise, seeds[0])
    jobs = [replace(job, seed=tuple(seed)) for seed in seeds]

    def evaluated(few: Sequence[_Job]) -> list[dict[str, ExpectedCell]]:
        cells = _expected(few)
        if advance:
            advance(len(few))
        return cells

    found = itertools.chain.from_iterable(_side_by_side(evaluated, [jobs]))
    return [_answer_key(job, cells) for job, cells in zip(jobs, found, strict=True)]


def _answer_key(job: _Job, cells: Mapping[str, ExpectedCell]) -> AnswerKey:
    exercise = job.exercise
    release, files = _complete_release(exercise)
    mistake_cells = {mistake.name: mistake.cell for mistake in mistakes(exercise)}
    mistake_functions = {mistake.name: mistake.function for mistake in mistakes(exercise)}
    answers = {
        given(cell).grade_id: tuple(definitions(cell.source))
        for cell in release.cells
        if is_answer_cell(cell)
    }
    uses = {name: tuple(sorted(used)) for name, used in answers_used(exercise.program()).items()}
    content = [
        dict(cells),
        mistake_cells,
        mistake_functions,
        answers,
        job.graded,
        uses,
        job.right_versions,
        _code_that_runs(release),
    ]
    return AnswerKey(
        exercise=exercise.name,
        release=release,
        cells=cells,
        mistake_cells=mistake_cells,
        mistake_functions=mistake_functions,
        answers=answers,
        graded=job.graded,
        uses=uses,
        right_versions=job.right_versions,
        packages=exercise.packages,
        versions=released_versions(exercise),
        files=files,
        digest=digest_of(content),
    )
