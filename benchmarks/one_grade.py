"""One submission, one grade: submissions that misbehave, graded five times, and compared line by line.

python -m benchmarks.one_grade
python -m benchmarks.one_grade --only quit "timer in a thread" --times 2

All gradings are on the same seeds, with one worker and with two, and they run side by side, so that each has
to do with a busy machine. Every line whose verdict is not the same each time is printed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from autograder.course import Course
from autograder.grade.grade_class import Grader, WorkerOptions
from autograder.grade.result import Result
from benchmarks.misbehaving import EXERCISE, MISBEHAVING, notebook_of

# workers of each grading
GRADINGS = (1, 2, 1, 2, 1)


def hand_in(course: Course, names: Sequence[str]) -> dict[str, str]:
    """Lay submissions into a class; returns the name of what each student has handed in."""
    exercise = course.exercise(EXERCISE)
    students = {f"s{number:03}": name for number, name in enumerate(names)}
    for student, name in students.items():
        folder = course.submitted / student / EXERCISE
        folder.mkdir(parents=True)
        text = json.dumps(notebook_of(exercise, name))
        (folder / f"{EXERCISE}.ipynb").write_text(text, encoding="utf-8")
    return students


def lines_of(result: Result) -> dict[str, tuple[float, str]]:
    """Of each line its points and its verdict."""
    return {
        f"{cell}: {line.expression}": (line.earned, line.verdict) for cell, line in result.lines()
    }


def graded(course: Course, workers: int) -> dict[str, Result]:
    """The results of all submissions of a class, by student."""
    begun, exercise = time.monotonic(), course.exercise(EXERCISE)
    work = [(path.name, exercise) for path in sorted(course.submitted.iterdir())]
    found = Grader(course).examine(work, WorkerOptions(workers), "Grading")
    results = {one.result.student: one.result for one in found}
    print(f"graded with {workers} worker(s) in {time.monotonic() - begun:.0f} s", flush=True)
    return results


def differences(found: Sequence[Result]) -> dict[str, list[tuple[float, str]]]:
    """The lines on which gradings of one submission don't agree, with what each gave."""
    lines = [lines_of(result) for result in found]
    return {
        place: [one[place] for one in lines]
        for place in lines[0]
        if len({one[place] for one in lines}) > 1
    }


def main(names: Sequence[str], times: int) -> None:
    """Grade everything so many times, and print what was found."""
    unsteady = 0
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, Path(folder))
        students = hand_in(course, names)
        # the seeds of all gradings
        Grader(course).prepare([course.exercise(EXERCISE)])
        # a grading starts processes by forking, so each needs a process without threads
        apart = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(times, apart) as processes:
            running = [processes.submit(graded, course, workers) for workers in GRADINGS[:times]]
        gradings = [grading.result() for grading in running]
    for student, name in students.items():
        found = [grading[student] for grading in gradings]
        unlike = differences(found)
        scores = [result.score for result in found]
        remarks = sorted({remark.kind for result in found for remark in result.remarks})
        unsteady += bool(unlike)
        print(f"{name}: {' '.join(f'{score:g}' for score in scores)}  {' '.join(remarks)}")
        for place, verdicts in unlike.items():
            print(f"    {place[:90]}: {', '.join(verdict for _, verdict in verdicts)}")
    print(
        f"{len(names)} submissions, {times} gradings: {unsteady} with a line that isn't always the same"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--only", nargs="+", default=list(MISBEHAVING), choices=list(MISBEHAVING))
    parser.add_argument("--times", type=int, default=len(GRADINGS))
    given = parser.parse_args()
    main(given.only, given.times)
