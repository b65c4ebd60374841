"""A large class: does a submission cost at the end what it cost at the beginning, and does memory grow?

python -m benchmarks.class_size
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from autograder.course import Course
from autograder.grade.grade_class import Grader, WorkerOptions, handed_in
from autograder.grade.gradebook import Recorder, register
from benchmarks.grading import hand_in, machine_seconds
from benchmarks.record import save
from benchmarks.sealing import EXERCISE

PART = 200


def own_megabytes() -> float:
    """Memory of this process, the one that reads submissions and writes results."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    """Grade the class; compare its last part with its first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=2000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder))
        exercise = course.exercise(EXERCISE)
        register(course, exercise)
        hand_in(course, arguments.submissions)
        grader = Grader(course)
        notes, full = [], True
        begun = time.perf_counter()
        # what grade_class does, with a note after each record
        with Recorder(course) as recorder:
            work = handed_in(course, [exercise])
            for graded in grader.examine(work, WorkerOptions(), "Grading"):
                recorder.record(graded)
                full = full and graded.result.score == graded.result.points
                now = time.perf_counter(), machine_seconds(), time.process_time()
                notes.append((*now, own_megabytes()))
        whole = time.perf_counter() - begun
    first = [b - a for a, b in zip(notes[0], notes[PART], strict=True)]
    last = [b - a for a, b in zip(notes[-PART - 1], notes[-1], strict=True)]
    names = ("seconds", "processor_seconds_of_the_machine", "processor_seconds_of_the_grader")
    save(
        __file__,
        {
            "submissions": arguments.submissions,
            "seconds": whole,
            "all_at_full_marks": full,
            "part": PART,
            **{
                f"{name}_per_submission": {"first": a / PART, "last": b / PART, "ratio": b / a}
                for name, a, b in zip(names, first, last, strict=False)
            },
            "megabytes_of_the_grader": {
                "after_first_part": notes[PART][3],
                "at_the_end": notes[-1][3],
            },
        },
    )


if __name__ == "__main__":
    main()
