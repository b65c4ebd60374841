"""A whole class: sandboxed and parallel, beside stock nbgrader on the same honest submissions.

python -m benchmarks.grading

Rounds take turns: nbgrader's autograde with its own steps, one application for the class; ours with one
worker, with one a core, and with so many workers of a Dask cluster. What is done once for a class (the
exercise registered, expected values computed, the cluster started) is reported apart.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from distributed import LocalCluster
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory

from autograder.course import Course
from autograder.grade.grade_class import Grader, WorkerOptions, grade_class
from autograder.grade.gradebook import Recorder, register
from autograder.grade.submission import students
from autograder.kernels import sandbox
from autograder.kernels.student_kernel import StudentKernel
from benchmarks.record import save
from benchmarks.sealing import EXERCISE, STOCK_START, honest_submissions


def hand_in(course: Course, count: int, exercise: str = EXERCISE) -> None:
    """Lay honest submissions into a class: the reference and alternatives in turn."""
    texts = honest_submissions(course.exercise(exercise))
    for number in range(count):
        path = course.submitted / f"s{number:04}" / exercise / f"{exercise}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(texts[number % len(texts)], encoding="utf-8")


def scores(course: Course) -> list[float]:
    """The scores in the gradebook, by student."""
    with Gradebook(course.db_url) as gradebook:
        found = gradebook.assignment_submissions(EXERCISE)
        return [s.score for s in sorted(found, key=lambda s: s.student.id)]


def stock(course: Course) -> None:
    """Grade the class with nbgrader's own preprocessors."""
    config = course.config.copy()
    config.CourseDirectory.assignment_id = EXERCISE
    converter = Autograde(coursedir=CourseDirectory(config=config), config=config)
    converter.force = True
    converter.log.setLevel(logging.CRITICAL)
    STOCK_START(converter)


def machine_seconds() -> float:
    """Processor seconds that this machine has spent, all processes together."""
    fields = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    idle = int(fields[3]) + int(fields[4])
    return (sum(map(int, fields[:8])) - idle) / os.sysconf("SC_CLK_TCK")


def where_time_goes(course: Course, count: int) -> dict[str, float]:
    """Mean seconds of each part of a submission's examination, and of recording it."""
    spent = {"kernel start": 0.0, "cells and questions": 0.0, "kernel end": 0.0, "recording": 0.0}

    def timed(function: Callable, part: str) -> Callable:
        def run(*arguments: object) -> object:
            begun = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                spent[part] += (time.perf_counter() - begun) / count

        return run

    exercise = course.exercise(EXERCISE)
    some = students(course, exercise)[:count]
    grader = Grader(course)
    grader.grade(some[0], exercise)
    plain = {name: getattr(StudentKernel, name) for name in ("__enter__", "__exit__")}
    begun = time.perf_counter()
    try:
        StudentKernel.__enter__ = timed(plain["__enter__"], "kernel start")
        StudentKernel.__exit__ = timed(plain["__exit__"], "kernel end")
        with Recorder(course) as recorder:
            for student in some:
                timed(recorder.record, "recording")(grader.grade(student, exercise))
    finally:
        for name, function in plain.items():
            setattr(StudentKernel, name, function)
    total = (time.perf_counter() - begun) / count
    spent["cells and questions"] = total - sum(spent.values())
    return spent


def main() -> None:
    """Time all on the class in turn; report submissions a second and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    cores = os.cpu_count() or 1
    options = {"dashboard_address": None, "host": "127.0.0.1", "processes": True}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=cores, threads_per_worker=1, **options) as cluster,
    ):
        course = Course(Course.find().root, class_folder=Path(folder))
        exercise = course.exercise(EXERCISE)
        begun = time.perf_counter()
        register(course, exercise)
        Grader(course).key(exercise)
        once = time.perf_counter() - begun
        hand_in(course, arguments.submissions)

        def ours(options: WorkerOptions) -> None:
            shutil.rmtree(course.autograded, ignore_errors=True)
            grade_class(course, [exercise], options=options)

        kinds: dict[str, Callable] = {
            "stock": lambda: stock(course),
            "1 worker": lambda: ours(WorkerOptions(workers=1)),
            f"{cores} workers": lambda: ours(WorkerOptions(workers=cores)),
            f"Dask, {cores} workers": lambda: ours(
                WorkerOptions(scheduler=cluster.scheduler_address)
            ),
        }
        seconds: dict[str, list[float]] = {name: [] for name in kinds}
        processor: dict[str, list[float]] = {name: [] for name in kinds}
        graded = {}
        for _ in range(arguments.rounds):
            for name, grade in kinds.items():
                busy, begun = machine_seconds(), time.perf_counter()
                grade()
                seconds[name].append((time.perf_counter() - begun) / arguments.submissions)
                processor[name].append((machine_seconds() - busy) / arguments.submissions)
                graded[name] = scores(course)
        parts = where_time_goes(course, min(10, arguments.submissions))
    median = {name: statistics.median(found) for name, found in seconds.items()}
    used = {name: statistics.median(found) for name, found in processor.items()}
    many = f"{cores} workers"
    save(
        __file__,
        {
            "seconds_per_submission": median,
            "processor_seconds_per_submission_of_the_machine": used,
            "throughput_to_stock": median["stock"] / median[many],
            f"{cores}_workers_to_1": median["1 worker"] / median[many],
            f"processor_seconds_{cores}_workers_to_1": used[many] / used["1 worker"],
            "dask_to_local": median[many] / median[f"Dask, {many}"],
            "where_the_time_of_one_worker_goes": parts,
            "seconds_once_per_class_and_exercise": once,
            "same_scores": all(found == graded["stock"] for found in graded.values()),
            "sandbox": sandbox.why_not() or "on",
            "submissions": arguments.submissions,
            "rounds": arguments.rounds,
        },
    )


if __name__ == "__main__":
    main()
