"""The grader's own examination: mistakes and attacks must lose, and correct work must win."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from autograder.audit import many_seeds, near_misses, own_check
from autograder.audit.cases import Case, cases_of, twin_name
from autograder.audit.examiner import AuditedClass, Examination, Examiner, Outcome
from autograder.audit.registry import ATTACKS, FOLLOW_THROUGH_ATTACKS
from autograder.build.source_notebook import source_notebook
from autograder.catalogue import Mistake, mistakes
from autograder.course import Course, Exercise
from autograder.exercises import graded_answers
from autograder.files import digest_of_files
from autograder.grade.result import Result
from autograder.kernels import forkserver
from autograder.progress import progress
from autograder.text import plain_text


@dataclass(frozen=True)
class KnownGain:
    """An attack that is known to gain something, what it earned, and why it can."""

    name: str
    points: float
    why: str


@dataclass(frozen=True)
class Findings:
    """What an audit found in one exercise.

    caught and named: of the mistakes; accepted: of the alternatives; honest_full_marks: of the styles of
    correct work; gained: by attacks that are known to gain something; surprises: what must be mended;
    disagreements: between a student's own check and the grade.
    """

    exercise: str
    mistakes: int
    caught: int
    named: int
    alternatives: int
    accepted: int
    honest: int
    honest_full_marks: int
    attacks: int
    undeserved_points: float
    gained: tuple[KnownGain, ...]
    surprises: tuple[str, ...]
    disagreements: tuple[str, ...]


# by grade cell, the answers that it grades
GradedAnswers = Mapping[str, Sequence[str]]

# Grading the cases ------------------------------------------------------------------------------


def grade_cases(course: Course, cases: Sequence[Case], workers: int | None = None) -> list[Outcome]:
    """Grade cases of any exercises, in a class of their own.

    workers: processes, by default one a core; with 1 all is done in this process.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        AuditedClass(course.root, Path(folder), cases) as audited,
        progress("Auditing") as bar,
    ):
        found = []
        shown = bar.add_task("", total=len(cases))
        for case, found_out in examined(audited, cases, workers or os.cpu_count() or 1):
            found.append(audited.record(case, found_out))
            bar.update(shown, advance=1, description=f"{case.exercise} {case.kind}")
        return found + audited.later_harm()


def examined(
    audited: AuditedClass, cases: Sequence[Case], workers: int
) -> Iterator[tuple[Case, Examination]]:
    """Examine cases of an audited class; yields every case with what came of it, as they come.

    workers: as for `grade_cases`; twice as many for attacks, which mostly wait. As in a class, what the clock
    has stopped, perhaps because of others, is graded once more, after all others and alone; attacks aren't,
    since many of them hang on purpose.
    """
    if workers == 1:
        for case in cases:
            yield case, audited.examiner.examine(case)
        return
    place = audited.course.root, audited.course.home
    stopped = []
    with _started_processes(audited.course) as started:
        # training needs a core to itself
        for attacking, processes in ((False, workers), (True, 2 * workers)):
            with concurrent.futures.ProcessPoolExecutor(processes, **started) as pool:
                running = {
                    pool.submit(_examine, *place, case): case
                    for case in cases
                    if (case.kind == "attack") is attacking
                }
                for future in concurrent.futures.as_completed(running):
                    case, found = running[future], future.result()
                    if attacking or found.graded is None or found.graded.result.is_final:
                        yield case, found
                    else:
                        stopped.append(case)
    for case in stopped:
        yield case, audited.examiner.examine(case)


@contextlib.contextmanager
def _started_processes(course: Course) -> Iterator[dict[str, Any]]:
    """How a pool starts its processes: each with a copy of one fork server, where there are any.

    A new interpreter each, or a fork of one: this process has threads, which a fork would not copy.
    """
    if not forkserver.available():
        yield {"mp_context": multiprocessing.get_context("spawn")}
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with tempfile.TemporaryDirectory() as folder:
        python, socket = course.settings.python, Path(folder) / "forks"
        source = forkserver.ForkServerSource(python, socket)
        try:
            yield {
                "mp_context": context,
                "initializer": forkserver.copy_from,
                "initargs": (python, socket),
            }
        finally:
            source.end()


@functools.cache
def _examiner(root: Path, class_folder: Path) -> Examiner:
    return Examiner(root, class_folder)


def _examine(root: Path, class_folder: Path, case: Case) -> Examination:
    """In a process of the pool."""
    return _examiner(root, class_folder).examine(case)


# Judging the outcomes ---------------------------------------------------------------------------


def _failed(result: Result) -> list[tuple[str, str]]:
    return [(cell, line.expression) for cell, line in result.lines() if not line.passed]


def _is_caught(outcome: Outcome, mistake: Mistake) -> bool:
    return not outcome.graded_result.cell(mistake.cell).passed


def _is_named(outcome: Outcome, mistake: Mistake) -> bool:
    return outcome.graded_result.cell(mistake.cell).mistake == mistake.name


def _gives_values(outcome: Outcome, mistake: Mistake) -> bool:
    """Whether a mistake shows by more than exceptions, their names and bits, from which none is named."""
    found = outcome.graded_result.cell(mistake.cell)
    return any(
        line.difference is not None
        and line.verdict not in ("error", "text")
        and not isinstance(line.difference.parameters.get("got"), bool)
        for line in found.lines
    )


def _mistake_surprises(outcome: Outcome, mistake: Mistake, graded: GradedAnswers) -> Iterator[str]:
    """A mistake must be caught by its cell, named if it gives values, and cost nothing elsewhere."""
    if not _is_caught(outcome, mistake):
        yield f"mistake {mistake.name!r} keeps all points of {mistake.cell}"
    if not _is_named(outcome, mistake) and _gives_values(outcome, mistake):
        yield f"mistake {mistake.name!r} is not named in {mistake.cell}"
    for cell, expression in _failed(outcome.graded_result):
        if mistake.function not in graded[cell]:
            yield f"mistake {mistake.name!r} also costs {cell}: {expression}"


def _gains_by_follow_through(
    kinds: Mapping[str, Sequence[Outcome]], graded: GradedAnswers
) -> Iterator[str]:
    """Attacks on follow-through may pass no line that their honest twins don't, nor what they left out."""
    twins = {outcome.case.name: outcome.graded_result for outcome in kinds.get("twin", [])}
    for outcome in kinds.get("follow-through", []):
        name, attack = outcome.case.name, FOLLOW_THROUGH_ATTACKS[outcome.case.name]
        missing, twin = set(attack.missing), twins[twin_name(attack, outcome.case.exercise)]
        deserved = {
            (cell, line.expression)
            for cell, line in twin.lines()
            if line.passed and not missing & set(graded[cell])
        }
        for cell, line in outcome.result.lines() if outcome.result else ():
            if line.passed and (cell, line.expression) not in deserved:
                yield f"attack on follow-through {name!r} gains {cell}: {line.expression}"


def _surprises(outcome: Outcome) -> Iterator[str]:
    """What must not be so, for a case that is no mistake."""
    case, result = outcome.case, outcome.result
    for harm in outcome.harm:
        yield f"{case.kind} {case.name!r} {harm}"
    if result is None:
        return
    if case.kind in ("reference", "alternative", "honest") and not outcome.full_marks:
        yield f"{case.kind} {case.name!r} loses {_failed(result)}"
    if case.kind == "untouched" and result.score != 0:
        yield "the untouched notebook earns points"
    if case.kind == "attack" and result.score and not ATTACKS[case.name].may_gain:
        yield f"attack {case.name!r} earns {result.score:g} points"


def _judged(
    exercise: Exercise, outcomes: Sequence[Outcome], changed: bool, graded: GradedAnswers
) -> Findings:
    """The findings of one exercise.

    changed: whether exercises/ or solutions/ has; graded: by grade cell, the answers that it grades.
    """
    kinds: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.case.kind, []).append(outcome)
    by_name = {mistake.name: mistake for mistake in mistakes(exercise)}
    wrong = [(outcome, by_name[outcome.case.name]) for outcome in kinds.get("mistake", [])]
    attacked = [outcome for outcome in kinds.get("attack", []) if outcome.result]
    gaining = [outcome for outcome in attacked if ATTACKS[outcome.case.name].may_gain]
    surprises = ["exercises/ or solutions/ has changed meanwhile"] if changed else []
    for outcome, mistake in wrong:
        surprises += _mistake_surprises(outcome, mistake, graded)
    surprises += _gains_by_follow_through(kinds, graded)
    for outcome in outcomes:
        surprises += _surprises(outcome)
    return Findings(
        exercise=exercise.name,
        mistakes=len(wrong),
        caught=sum(_is_caught(*pair) for pair in wrong),
        named=sum(_is_named(*pair) for pair in wrong),
        alternatives=len(kinds.get("alternative", [])),
        accepted=sum(outcome.full_marks for outcome in kinds.get("alternative", [])),
        honest=len(kinds.get("honest", [])),
        honest_full_marks=sum(outcome.full_marks for outcome in kinds.get("honest", [])),
        attacks=len(kinds.get("attack", [])) + len(kinds.get("follow-through", [])),
        undeserved_points=sum(o.graded_result.score for o in attacked if o not in gaining),
        gained=tuple(_gain(outcome) for outcome in gaining),
        surprises=tuple(surprises),
        disagreements=tuple(text for outcome in outcomes for text in disagreements(outcome)),
    )


def _gain(outcome: Outcome) -> KnownGain:
    attack = ATTACKS[outcome.case.name]
    return KnownGain(
        attack.name, outcome.graded_result.score, attack.undetected or attack.without_sandbox
    )


def disagreements(outcome: Outcome) -> list[str]:
    """Where a case's own check, if it was run, does not say what its grade says."""
    if outcome.own_check is None:
        return []
    found = own_check.disagreements(outcome.own_check, outcome.graded_result)
    return [f"{outcome.case.name}: {text}" for text in found]


def findings_of(
    course: Course, cases: Sequence[Case], workers: int | None = None
) -> list[Findings]:
    """Grade cases and judge what came of them; findings by exercise.

    workers: as for `grade_cases`.
    """
    watched = [course.root / "exercises", course.root / "solutions"]

    def digest() -> str:
        return digest_of_files([p for top in watched for p in top.rglob("*")], course.root)

    before = digest()
    outcomes = grade_cases(course, cases, workers)
    changed = digest() != before
    return [
        _judged(
            exercise,
            [o for o in outcomes if o.case.exercise == exercise],
            changed,
            graded_answers(source_notebook(exercise, course.settings)),
        )
        for exercise in dict.fromkeys(case.exercise for case in cases)
    ]


# The command ------------------------------------------------------------------------------------


def run(course: Course, exercises: Sequence[Exercise]) -> list[Findings]:
    """Audit some exercises."""
    cases = [case for exercise in exercises for case in cases_of(exercise)]
    more = _evaluated_surprises(course, exercises)
    return [
        replace(found, surprises=(*found.surprises, *more[found.exercise]))
        for found in findings_of(course, cases)
    ]


def _evaluated_surprises(course: Course, exercises: Sequence[Exercise]) -> dict[str, list[str]]:
    """What is seen without grading: right answers that lose, and near misses that don't; by exercise."""

    def surprises(exercise: Exercise) -> list[str]:
        return [
            *many_seeds.surprises(course, exercise),
            *near_misses.surprises(course, exercise),
        ]

    # threads only wait for processes here
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        found = threads.map(surprises, exercises)
        return {one.name: texts for one, texts in zip(exercises, found, strict=True)}


def is_clean(findings: Sequence[Findings]) -> bool:
    """Whether an audit found nothing to mend."""
    return not any(found.surprises or found.disagreements for found in findings)


def print_table(findings: Sequence[Findings]) -> None:
    """Print an audit's findings."""
    table = Table(title="Audit")
    columns: dict[str, Callable[[Findings], str]] = {
        "mistakes caught": lambda f: f"{f.caught} of {f.mistakes}",
        "named": lambda f: f"{f.named} of {f.mistakes}",
        "alternatives at full marks": lambda f: f"{f.accepted} of {f.alternatives}",
        "correct styles at full marks": lambda f: f"{f.honest_full_marks} of {f.honest}",
        "undeserved points in attacks": lambda f: f"{f.undeserved_points:g} in {f.attacks}",
        "disagreements": lambda f: str(len(f.disagreements)),
    }
    table.add_column("exercise")
    for head in columns:
        table.add_column(head, justify="right")
    for found in findings:
        table.add_row(found.exercise, *(show(found) for show in columns.values()))
    console = Console(width=110)
    console.print(table)
    for found in findings:
        for text in [*found.surprises, *found.disagreements]:
            console.print(f"{found.exercise}: {plain_text(text)}", style="red", markup=False)
        for gain in found.gained:
            told = f"{gain.name}: {gain.points:g} points: {gain.why}"
            console.print(f"{found.exercise}: known to gain: {told}", style="yellow")
