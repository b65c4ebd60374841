"""Work handed in again, and a command with one submission or none: what each costs.

python -m benchmarks.again

For each exercise a class is graded and gets feedback; then half of it hands in again, each with a seed of its
own, and grading these is timed beside the first time. The commands are timed from start to end, as anybody
calls them, on a class of one.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nbformat

from autograder.course import Course
from autograder.grade.feedback import write_feedback
from autograder.grade.grade_class import Grader, WorkerOptions, grade_class
from autograder.grade.gradebook import register
from autograder.instructor_settings import CONFIG
from autograder.kernels import sandbox
from autograder.package import module_command
from benchmarks.grading import hand_in, machine_seconds
from benchmarks.record import save

EXERCISES = ("ch2_scaled_dot_product", "ch6_transformer")
ONE = EXERCISES[0]


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and processor seconds of the machine."""
    busy, begun = machine_seconds(), time.perf_counter()
    run()
    return time.perf_counter() - begun, machine_seconds() - busy


def hand_in_again(path: Path, words: str) -> None:
    """Make a submission another one, with words of the student's own below it."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell(words))
    nbformat.write(notebook, path)


def handing_in_again(name: str, count: int) -> dict[str, float]:
    """Processor seconds a submission, the first time and again, with one worker."""
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder))
        exercise = course.exercise(name)
        hand_in(course, count, name)
        register(course, exercise)
        _, once = timed(lambda: Grader(course).key(exercise))
        options = WorkerOptions(workers=1)
        _, first = timed(lambda: grade_class(course, [exercise], options=options))
        write_feedback(course, grade_class(course, [exercise], options=options))
        for path in sorted(course.submitted.glob("*/*/*.ipynb"))[: count // 2]:
            hand_in_again(path, "Again.")
        _, again = timed(lambda: grade_class(course, [exercise], options=options))
    return {"key": once, "first": first / count, "again": again / (count // 2)}


def commands(rounds: int) -> dict[str, list[float]]:
    """Medians of the seconds of `grade` with one submission, and with nothing to do: by the clock, and processor."""
    with tempfile.TemporaryDirectory() as folder:
        # a command grades in its course's folder
        root = Path(folder)
        shutil.copy(Course.find().root / CONFIG, root)
        for part in ("book", "exercises", "solutions"):
            shutil.copytree(Course.find().root / part, root / part)
        hand_in(Course(root), 1, ONE)
        (path,) = Course(root).submitted.glob("*/*/*.ipynb")
        command = [*module_command("autograder"), "grade", "--exercise", ONE]

        def grade() -> None:
            subprocess.run(command, check=True, cwd=root, capture_output=True)

        grade()
        found: dict[str, list[tuple[float, float]]] = {"one submission": [], "nothing to do": []}
        for number in range(rounds):
            hand_in_again(path, f"Time {number}.")
            found["one submission"].append(timed(grade))
            found["nothing to do"].append(timed(grade))
    return {
        name: [statistics.median(part) for part in zip(*seconds, strict=True)]
        for name, seconds in found.items()
    }


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    again = {name: handing_in_again(name, arguments.submissions) for name in EXERCISES}
    save(
        __file__,
        {
            "processor_seconds_of_the_machine": again,
            "again_to_first": {name: one["again"] / one["first"] for name, one in again.items()},
            "seconds_and_processor_seconds_of_a_command": commands(arguments.rounds),
            "sandbox": sandbox.why_not() or "on",
            "submissions": arguments.submissions,
            "rounds": arguments.rounds,
        },
    )


if __name__ == "__main__":
    main()
