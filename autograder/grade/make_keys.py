"""Making answer keys: what is expected in a class, evaluated once and kept in its folder."""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import itertools
import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

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
from autograder.catalogue import mistakes
from autograder.course import Course, Exercise
from autograder.dependencies import answers_used
from autograder.errors import ExerciseError
from autograder.exercises import (
    CHECK_CELLS,
    baked_answers,
    grade_cells,
    graded_answers,
    is_answer_cell,
    metadata_of,
    released,
)
from autograder.expected import ExpectedCell, Failed, Unexplained
from autograder.files import digest_of, write_whole
from autograder.grade.answer_key import AnswerKey
from autograder.grade.combined import pairs_of
from autograder.grade.examine import Graded, named, unexplained_cells, with_pairs
from autograder.grade.seeds import FreshSeed, class_seed, fresh_seed
from autograder.grade.submission import Submission
from autograder.instructor_settings import CONFIG
from autograder.programs import spans_of
from autograder.reference import Conditions, expected_cells, explaining, joined
from autograder.right_versions import RightVersions, specified_names
from autograder.runtime.grade_cell import parse_cell

# importing the programs, and torch if they use it, takes seconds, so a process evaluates several seeds
JOBS_IN_A_PROCESS = 8
# each process evaluates the reference, too, so it gets many of an exercise's mistakes
MISTAKES_IN_A_PROCESS = 20
Found = TypeVar("Found")


@dataclass(frozen=True)
class Evaluation:
    """What is to be evaluated for one exercise under one seed, and the file in which it is kept.

    unanswered: grade cells without answers; graded: the answers that each grades; versions: right ones
    of the answers; stamp: a digest of what the values depend on but the seed; showing:
    by cell and expression, the mistakes that show in the release, with digests of their values' structures; shown:
    the same if its answers are current, else None; fresh: the seed if it isn't the class's; failed: as for
    `reference.Conditions`.
    """

    exercise: Exercise
    unanswered: Mapping[str, str]
    graded: Mapping[str, tuple[str, ...]]
    versions: RightVersions
    stamp: str
    seed: tuple[int, ...]
    path: Path
    showing: Mapping[str, Mapping[str, Mapping[str, str]]]
    shown: Mapping[str, Mapping[str, Collection[str]]] | None = None
    fresh: FreshSeed | None = None
    failed: Mapping[str, Failed] | None = field(default_factory=dict)

    @staticmethod
    def of(course: Course, exercise: Exercise, seed: Sequence[int]) -> Evaluation:
        """The job of an exercise in a class; ExerciseError when another release was handed out."""
        source = source_notebook(exercise, course.settings, with_checker=False)
        unanswered = unanswered_cells(source)
        graded = graded_answers(source)
        release = released(exercise)
        _refuse_another_release(exercise, unanswered, grade_cells(release))
        path = course.home.resolve() / "expected" / f"{exercise.name}.json"
        stamp = answers_stamp(exercise, unanswered, path.with_suffix(".stamp"))
        until = [e for e in course.exercises() if e.chapter <= exercise.chapter]
        versions = RightVersions(exercise, specified_names(map(released, until)))
        made_from = release.metadata.get("autotest", {}).get("answers")
        showing = _showing(release)
        shown = showing if made_from == stamp else None
        return Evaluation(
            exercise, unanswered, graded, versions, stamp, tuple(seed), path, showing, shown
        )

    def under(self, fresh: FreshSeed) -> Evaluation:
        """The same under another seed than the class's."""
        folder, name = ("own", fresh.student) if fresh.student else ("rounds", fresh.round)
        path = self.path.with_suffix("") / folder / f"{name}.json"
        return replace(self, seed=fresh.integers, path=path, fresh=fresh)

    @functools.cached_property
    def right_versions(self) -> dict[str, str]:
        """By answer, an expression that gives a right version of it under this seed."""
        return self.versions.under(self.seed)

    @property
    def made_from(self) -> str:
        """A digest of all that the values depend on."""
        return digest_of([self.stamp, self.seed, self.right_versions])

    def file(self) -> dict[str, Any]:
        """What the file holds: made_from, cells, known. Empty without a whole file.

        known: by cell, the mistakes whose values are known on all draws, None for all; in other cells none
        was evaluated.
        """
        try:
            kept = json.loads(self.path.read_text())
            return {"known": {}, **kept} if {"made_from", "cells"} <= kept.keys() else {}
        except (FileNotFoundError, ValueError, AttributeError, TypeError):
            return {}

    def kept(self) -> dict[str, ExpectedCell] | None:
        """The cells that the file holds, if they were made from the same and tell all that is asked for."""
        kept = self.file()
        if kept.get("made_from") != self.made_from:
            return None
        try:
            cells = _read(kept["cells"])
        except (AttributeError, KeyError, TypeError):
            return None
        known = kept["known"]
        is_told = cells.keys() == self.unanswered.keys() and all(
            name in known and (known[name] is None or self._possible(cells, name) <= {*known[name]})
            for name in self._asked
        )
        return cells if is_told else None

    @property
    def _asked(self) -> Iterable[str]:
        """The cells in which mistakes are asked for."""
        return self.unanswered if self.failed is None else self.failed

    def _possible(self, cells: Mapping[str, ExpectedCell], name: str) -> set[str]:
        """The mistakes that are needed on all draws of a cell; cells: with those that show on the first."""
        known = [mistake.name for mistake in mistakes(self.exercise)]
        if self.failed is None:
            return set(known)
        shown = [line.draws[0].mistakes for line in cells[name].lines]
        return explaining(self.failed[name], shown, known)

    def keep(self, cells: Mapping[str, ExpectedCell]) -> None:
        """Write what was evaluated into the file, which only its owner may read."""
        before = self.file()
        known: dict[str, Any] = dict.fromkeys(self._asked)
        if self.failed is not None:
            known = {name: sorted(self._possible(cells, name)) for name in self._asked}
        if before and before["made_from"] == self.made_from:
            there = _read(before["cells"])
            for name in known.keys() & before["known"].keys():
                cells = {**cells, name: joined(self.exercise, [there[name], cells[name]])}
                if known[name] is not None:
                    known[name] = sorted({*known[name], *before["known"][name]})
            cells, known = {**there, **cells}, {**before["known"], **known}
        stored = {name: cell.as_data() for name, cell in cells.items()}
        kept = {"made_from": self.made_from, "known": known, "cells": stored}
        write_whole(self.path, json.dumps(kept), mode=0o600)

    def evaluated(self) -> dict[str, ExpectedCell]:
        """What the file holds, after `evaluate_missing`."""
        cells = self.kept()
        if cells is None:
            raise ExerciseError(f"{self.path} was changed meanwhile. Run the command again.")
        return cells


def _read(stored: Mapping[str, dict]) -> dict[str, ExpectedCell]:
    return {name: ExpectedCell.read(cell) for name, cell in stored.items()}


def _showing(release: NotebookNode) -> dict[str, dict[str, dict[str, str]]]:
    """By cell and expression, the mistakes that show on the draw that students see, as in `Evaluation`.

    A build refuses a line that shows a mistake under some seeds only, so they show on every draw.
    """
    return {
        name: {
            expression: {mistake: seen[0] for mistake, seen in answer["mistakes"].items()}
            for expression, answer in lines.items()
        }
        for name, lines in baked_answers(release).items()
    }


def _expected(jobs: Sequence[Evaluation], processes: int) -> list[dict[str, ExpectedCell]]:
    """Evaluate jobs of one exercise and kind; processes: how many may share their mistakes."""
    first = jobs[0]
    few = math.ceil(len(mistakes(first.exercise)) / MISTAKES_IN_A_PROCESS)
    processes = 1 if first.failed == {} else max(1, min(processes, few))
    conditions = [_conditions(job) for job in jobs]
    return expected_cells(first.exercise, first.unanswered, conditions, processes)


def _conditions(job: Evaluation) -> Conditions:
    seeds = [[*job.seed, number] for number in range(reference.DRAWS)]
    # only names that are hidden differ between a class's right versions and others
    return Conditions(
        seeds, {} if job.fresh or job.failed else job.right_versions, job.failed, job.shown
    )


def _evaluate(jobs: Sequence[Evaluation], processes: int) -> None:
    """Evaluate jobs of one exercise and kind, and keep the values."""
    for job, cells in zip(jobs, _expected(jobs, processes), strict=True):
        job.keep(cells)


def evaluate_missing(jobs: Sequence[Evaluation]) -> None:
    """Evaluate what isn't kept yet, in processes side by side, with a few jobs of one exercise each."""
    missing: dict[tuple[Exercise, bool], list[Evaluation]] = {}
    # submissions of one round have one job
    for job in {job.path: job for job in jobs}.values():
        if job.kept() is None:
            missing.setdefault((job.exercise, job.failed == {}), []).append(job)
    _side_by_side(_evaluate, missing.values())


def _evaluated(jobs: Sequence[Evaluation]) -> list[dict[str, ExpectedCell]]:
    """What jobs give, kept or evaluated now; the files are large, and each is read once if it is whole."""
    kept = [job.kept() for job in jobs]
    evaluate_missing([job for job, cells in zip(jobs, kept, strict=True) if cells is None])
    return [
        job.evaluated() if cells is None else cells for job, cells in zip(jobs, kept, strict=True)
    ]


def _side_by_side(
    evaluate: Callable[[Sequence[Evaluation], int], Found],
    several: Iterable[Sequence[Evaluation]],
) -> list[Found]:
    """What an evaluation of a few jobs at a time gives; several: jobs of one exercise and kind each.

    evaluate: is told in how many processes, so that few jobs use all cores, too.
    """
    batches = []
    cores = os.cpu_count() or 1
    for jobs in several:
        # a reference alone takes less time than it takes to import what it needs
        share = math.ceil(len(jobs) / cores) if jobs[0].failed == {} else 0
        size = max(JOBS_IN_A_PROCESS, share)
        batches += [jobs[start : start + size] for start in range(0, len(jobs), size)]
    # threads only wait for processes here: ast.parse in several threads can raise SystemError
    # (CPython issue 106905, up to 3.11.8)
    with concurrent.futures.ThreadPoolExecutor(cores) as threads:
        processes = math.ceil(cores / max(1, len(batches)))
        return list(threads.map(evaluate, batches, itertools.repeat(processes)))


def _refuse_another_release(
    exercise: Exercise, current: Mapping[str, str], handed_out: Mapping[str, str]
) -> None:
    """Raise ExerciseError when the released exercise isn't the one in solutions/."""
    for name in sorted(set(current) | set(handed_out)):
        now, then = current.get(name), handed_out.get(name)
        if now is None or then is None or parse_cell(now).asks() != parse_cell(then).asks():
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
        and not metadata_of(cell).get("grade")
        and not metadata_of(cell).get("solution")
        and metadata_of(cell).get("grade_id") not in CHECK_CELLS
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
    """An exercise's answer key for a class, with all mistakes; they take far longer than what is right.

    Raises ExerciseError or CatalogueError for an instructor's error.
    """
    return AnswerKeys(course, complete=True).of_class(exercise)


class AnswerKeys:
    """The answer keys of a class: one for each exercise, and those of submissions with a fresh seed.

    A submission's own key is the class's, but for the inputs and what is expected on them. None of them has
    mistakes: these take far longer than what is right, so they are evaluated for cells that somebody has failed.
    complete: all are evaluated at once, for the audit.
    """

    def __init__(self, course: Course, complete: bool = False) -> None:
        self._course, self._complete = course, complete
        self._jobs: dict[Exercise, Evaluation] = {}
        self._keys: dict[Exercise, AnswerKey] = {}
        # those of later rounds
        self._rounds: dict[Path, AnswerKey] = {}

    def prepare(self, exercises: Sequence[Exercise]) -> None:
        """Make the class's keys of several exercises side by side."""
        new = {
            exercise: Evaluation.of(self._course, exercise, class_seed(self._course, exercise.name))
            for exercise in exercises
            if exercise not in self._keys
        }
        if self._complete:
            new = {exercise: replace(job, failed=None) for exercise, job in new.items()}
        evaluated = _evaluated(list(new.values()))
        self._jobs |= new
        self._keys |= {
            exercise: _answer_key(job, cells)
            for (exercise, job), cells in zip(new.items(), evaluated, strict=True)
        }

    def of_class(self, exercise: Exercise) -> AnswerKey:
        """An exercise's key for the class, made on first use."""
        self.prepare([exercise])
        return self._keys[exercise]

    def _job(self, exercise: Exercise, student: str, submission: str) -> Evaluation:
        """submission: its digest."""
        self.prepare([exercise])
        job = self._jobs[exercise]
        fresh = fresh_seed(self._course, student, exercise.name, submission, job.seed)
        return job.under(fresh) if fresh else job

    def evaluate(self, submissions: Iterable[tuple[Exercise, Submission]]) -> None:
        """Evaluate what some submissions' own keys need, several in one process."""
        evaluate_missing([self._job(exercise, s.student, s.digest) for exercise, s in submissions])

    def explained(self, several: Sequence[Graded]) -> list[Graded]:
        """Graded submissions with the known mistakes that explain what they have failed.

        What these give is evaluated once for all that have failed the same cell, and kept.
        """
        jobs, failed = [], collections.defaultdict[Path, dict[str, list[list]]](dict)
        for graded in several:
            exercise = self._course.exercise(graded.result.exercise)
            job = self._job(exercise, graded.result.student, graded.result.basis.submission)
            jobs.append(job)
            for name, lines in graded.failed().items():
                together = failed[job.path].setdefault(name, [[] for _ in lines])
                for line, found in zip(together, lines, strict=True):
                    line.extend(found)
        needed = {job.path: replace(job, failed=failed[job.path]) for job in jobs}
        cells = dict(zip(needed, _evaluated(list(needed.values())), strict=True))
        explained = [
            named(graded, self.of_class(job.exercise), cells[job.path])
            for graded, job in zip(several, jobs, strict=True)
        ]
        return self._with_pairs(explained, [cells[job.path] for job in jobs])

    def _with_pairs(
        self, several: Sequence[Graded], expected: Sequence[Mapping[str, ExpectedCell]]
    ) -> list[Graded]:
        """Graded submissions with the pairs of known mistakes that explain what no single one does."""
        asked: dict[str, list[tuple[int, str, Unexplained]]] = {}
        for number, (graded, cells) in enumerate(zip(several, expected, strict=True)):
            own = asked.setdefault(graded.result.exercise, [])
            key = self.of_class(self._course.exercise(graded.result.exercise))
            own += [
                (number, name, unexplained)
                for name, unexplained in unexplained_cells(graded, key, cells).items()
            ]
        pairs: dict[int, dict[str, list[str]]] = {}
        for exercise, own in asked.items():
            found = pairs_of(self._course.exercise(exercise), [one for _, _, one in own])
            for (number, name, _), pair in zip(own, found, strict=True):
                pairs.setdefault(number, {})[name] = pair
        return [with_pairs(graded, pairs.get(n, {})) for n, graded in enumerate(several)]

    def digest(self, exercise: Exercise, submission: Submission) -> str:
        """The digest of the key that a submission is graded with; nothing is evaluated for it."""
        job = self._job(exercise, submission.student, submission.digest)
        digest = self.of_class(exercise).digest
        return digest_of([digest, job.made_from]) if job.fresh else digest

    def of(self, exercise: Exercise, submission: Submission) -> AnswerKey:
        """The key that a submission is graded with; one of a later round is read once."""
        job = self._job(exercise, submission.student, submission.digest)
        if not job.fresh:
            return self.of_class(exercise)
        if job.path in self._rounds:
            return self._rounds[job.path]
        (cells,) = _evaluated([job])
        digest = self.digest(exercise, submission)
        key = replace(self.of_class(exercise), cells=cells, digest=digest)
        if job.fresh.round:
            self._rounds[job.path] = key
        return key


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
    job = replace(Evaluation.of(course, exercise, seeds[0]), failed=None)
    jobs = [replace(job, seed=tuple(seed)) for seed in seeds]

    def evaluated(few: Sequence[Evaluation], processes: int) -> list[dict[str, ExpectedCell]]:
        cells = _expected(few, processes)
        if advance:
            advance(len(few))
        return cells

    found = itertools.chain.from_iterable(_side_by_side(evaluated, [jobs]))
    return [_answer_key(job, cells) for job, cells in zip(jobs, found, strict=True)]


def _answer_key(job: Evaluation, cells: Mapping[str, ExpectedCell]) -> AnswerKey:
    exercise = job.exercise
    release, files = _complete_release(exercise)
    mistake_cells = {mistake.name: mistake.cell for mistake in mistakes(exercise)}
    mistake_functions = {mistake.name: mistake.function for mistake in mistakes(exercise)}
    answers = {
        metadata_of(cell).grade_id: tuple(spans_of(cell.source))
        for cell in release.cells
        if is_answer_cell(cell)
    }
    uses = {name: tuple(sorted(used)) for name, used in answers_used(exercise.program()).items()}
    content = [
        {name: cell.without_mistakes for name, cell in cells.items()},
        job.showing,
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
