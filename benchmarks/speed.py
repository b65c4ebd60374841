"""What the parts of this project cost, each beside something else that runs in turn with it.

python -m benchmarks.speed
python -m benchmarks.speed --only training decoding --rounds 9

Seconds are a clock's, medians of the rounds; the two sides of a row take turns, so other work on the machine
slows both. Their ratio is the figure: below 1, the first side is the faster one.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import logging
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
import torch
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.coursedir import CourseDirectory

from autograder.catalogue import (
    alternative_answers,
    alternatives,
    mistake_answers,
    mistakes,
)
from autograder.course import Course, Exercise
from autograder.exercises import baked_answers, grade_cells, reference_answers, released, solved
from autograder.grade.examine import grade_submission
from autograder.grade.feedback import write_feedback
from autograder.grade.grade_class import Grader, WorkerOptions, grade_class
from autograder.grade.gradebook import register
from autograder.grade.submission import read_submission
from autograder.kernels import sandbox
from autograder.reference import namespace_of, prepare_process
from autograder.runtime.draw import Draw
from autograder.runtime.evaluate import evaluate
from autograder.runtime.grade_cell import checks_with_inputs, parse_cell
from autograder.runtime.notebook import Checks, seed_of
from benchmarks.greedy import cached, decode, uncached
from benchmarks.throughput import VOCAB, Theirs, make_batches, stepper
from translation import machine
from translation.model import build
from translation.settings import complete

EXERCISE, SUBMISSIONS, THREADS, TOKENS = "ch2_scaled_dot_product", 4, 2, 50
# nbgrader's own, which nbgrader_config.py replaces when a course's settings are read
STOCK_START = Autograde.start
Run = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One figure: what is timed, beside what, and a context that gives both."""

    what: str
    beside: str
    sides: Callable[[], AbstractContextManager[tuple[Run, Run]]]


ROWS: dict[str, Row] = {}


def row(name: str, what: str, beside: str) -> Callable:
    """Enter a function that yields both sides into the table."""

    def enter(sides: Callable[[], Iterator[tuple[Run, Run]]]) -> None:
        ROWS[name] = Row(what, beside, contextlib.contextmanager(sides))

    return enter


# A class ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def a_class() -> Iterator[tuple[Course, Exercise]]:
    """A class whose students have handed in the reference and alternatives."""
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder))
        exercise = course.exercise(EXERCISE)
        others = [
            alternative_answers(exercise.program(), one)
            for one in alternatives(exercise)[: SUBMISSIONS - 1]
        ]
        for number, answers in enumerate([{}, *others]):
            hand_in(course, exercise, f"s{number}", answers)
        register(course, exercise)
        Grader(course).key(exercise)
        yield course, exercise


def hand_in(course: Course, exercise: Exercise, student: str, answers: dict[str, str]) -> None:
    """Lay a submission that is right but for some answers."""
    path = course.submitted / student / exercise.name / f"{exercise.name}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(solved(exercise, reference_answers(exercise) | answers), path)


def graded(course: Course, exercise: Exercise, workers: int = 1) -> Sequence[Any]:
    """Grade the class anew."""
    shutil.rmtree(course.autograded, ignore_errors=True)
    return grade_class(course, [exercise], options=WorkerOptions(workers=workers))


def stock(converter: type, start: Callable, course: Course) -> Run:
    """One of nbgrader's own converters, for the whole class, with its own steps."""
    config = copy.deepcopy(course.config)
    config.pop(converter.__name__, None)
    config.CourseDirectory.assignment_id = EXERCISE
    config.CourseDirectory.feedback_directory = str(course.home / "stock_feedback")

    def run() -> None:
        made = converter(coursedir=CourseDirectory(config=config), config=config)
        made.force = True
        made.log.setLevel(logging.CRITICAL)
        start(made)

    return run


@row("grading", "a class, one worker", "stock nbgrader, one process")
def _grading() -> Iterator[tuple[Run, Run]]:
    with a_class() as (course, exercise):
        yield lambda: graded(course, exercise), stock(Autograde, STOCK_START, course)


@row("workers", "a class, two workers", "one worker")
def _workers() -> Iterator[tuple[Run, Run]]:
    with a_class() as (course, exercise):
        yield lambda: graded(course, exercise, 2), lambda: graded(course, exercise)


@row("again", "`grade` when nothing has changed", "grading the class")
def _again() -> Iterator[tuple[Run, Run]]:
    with a_class() as (course, exercise):
        graded(course, exercise)
        yield lambda: grade_class(course, [exercise]), lambda: graded(course, exercise)


@row("follow-through", "a submission with a wrong softmax", "the same without follow-through")
def _follow_through() -> Iterator[tuple[Run, Run]]:
    with a_class() as (course, exercise):
        wrong = next(one for one in mistakes(exercise) if one.function == "softmax")
        hand_in(course, exercise, "wrong", mistake_answers(exercise.program(), wrong))
        submission, grader = read_submission(course, "wrong", exercise), Grader(course)
        key = grader.key(exercise)
        alone = replace(key, right_versions={})
        yield (
            lambda: grade_submission(submission, key, grader.settings),
            lambda: grade_submission(submission, alone, grader.settings),
        )


@row("feedback", "feedback pages of a class", "stock nbgrader's")
def _feedback() -> Iterator[tuple[Run, Run]]:
    with a_class() as (course, exercise):
        results = graded(course, exercise)

        def ours() -> None:
            shutil.rmtree(course.feedback, ignore_errors=True)
            write_feedback(course, results)

        yield ours, stock(GenerateFeedback, GenerateFeedback.start, course)


# A notebook ---------------------------------------------------------------------------------------


@row("check", "all checks of a notebook", "evaluating their expressions")
def _check() -> Iterator[tuple[Run, Run]]:
    exercise = Course.find().exercise(EXERCISE)
    notebook = released(exercise)
    checks, names = Checks({}, {}), namespace_of(exercise.program())
    checks.use_answers(baked_answers(notebook))
    drawn = []
    for grade_id, source in grade_cells(notebook).items():
        cell, draw = parse_cell(source), Draw(seed_of(grade_id))
        for check, inputs in checks_with_inputs(cell, draw):
            inputs = copy.deepcopy(inputs)
            drawn.append((check.code, names, inputs, draw.parameter_seed, cell.forbidden))

    def whole() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            for grade_id, source in grade_cells(notebook).items():
                checks.run_cell(grade_id, source, names)

    def alone() -> None:
        for given in drawn:
            evaluate(*given)

    yield whole, alone


# The trainer --------------------------------------------------------------------------------------


@row("decoding", f"{TOKENS} tokens with a cache", "each prefix anew")
def _decoding() -> Iterator[tuple[Run, Run]]:
    model = build(complete({"task": "parallel", "layers": 4}), VOCAB, "fused").eval()
    source = torch.randint(4, VOCAB, (8, 30))

    def side(kind: Callable) -> Run:
        @torch.inference_mode()
        def run() -> None:
            decode(kind, model, source, TOKENS)

        return run

    yield side(cached), side(uncached)


@row("training", "a training step", "torch.nn.Transformer's")
def _training() -> Iterator[tuple[Run, Run]]:
    settings = complete({"task": "multi30k"})
    here = machine.choose("cpu", "float32", compile=False).take()
    (batch,) = make_batches(1, 2048, 16, here.device)

    def side(model: torch.nn.Module) -> Run:
        step = stepper(model.train(), here)
        return lambda: step(*batch)

    yield side(build(settings, VOCAB, "fused", "cpu")), side(Theirs(settings))


# The table ----------------------------------------------------------------------------------------


def seconds(one: Row, rounds: int) -> tuple[float, float]:
    """Seconds of both sides, medians of rounds in which they take turns; the first only warms up."""
    # what a grader says of its sandbox is no row
    with contextlib.redirect_stdout(io.StringIO()), one.sides() as sides:
        found: list[list[float]] = [[], []]
        for _ in range(rounds + 1):
            for side, times in zip(sides, found, strict=True):
                begun = time.perf_counter()
                side()
                times.append(time.perf_counter() - begun)
    ours, other = (statistics.median(times[1:]) for times in found)
    return ours, other


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", nargs="+", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    torch.set_num_threads(THREADS)
    prepare_process()
    print(f"load {os.getloadavg()[0]:.1f}, sandbox {sandbox.why_not() or 'on'}")
    print(f"{'':15} {'ratio':>6} {'seconds':>9} {'beside':>9}")
    for name in given.only:
        ours, other = seconds(ROWS[name], given.rounds)
        told = f"{ROWS[name].what}, beside {ROWS[name].beside}"
        print(f"{name:15} {ours / other:6.2f} {ours:9.4f} {other:9.4f}   {told}", flush=True)


if __name__ == "__main__":
    main()
