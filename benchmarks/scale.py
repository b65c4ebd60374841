"""A large class: does a submission cost at the end what it cost at the beginning, and does memory grow?

python -m benchmarks.scale
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from nbformat import NotebookNode

from autograder.grade.grade_class import Course, grade_class
from benchmarks.grading import hand_in, machine_seconds
from benchmarks.record import save
from benchmarks.sealing import EXERCISE

PART = 200


def own_megabytes() -> float:
    """Memory of this process, the one that reads submissions and writes results."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class WatchedCourse(Course):
    """A course that notes the time, the machine's processor time and its own memory at each record."""

    def __init__(self, home: Path) -> None:
        super().__init__(home=home)
        self.notes: list[tuple[float, float, float, float]] = []

    def record(self, student: str, exercise: str, graded: NotebookNode) -> None:
        """Record, then note."""
        super().record(student, exercise, graded)
        self.notes.append(
            (time.perf_counter(), machine_seconds(), time.process_time(), own_megabytes())
        )


def main() -> None:
    """Grade the class; compare its last part with its first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=2000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        course = WatchedCourse(Path(folder))
        course.prepare(EXERCISE)
        hand_in(course, arguments.submissions)
        begun = time.perf_counter()
        results = grade_class(course, [EXERCISE])
        whole = time.perf_counter() - begun
        notes = course.notes
    first = [b - a for a, b in zip(notes[0], notes[PART], strict=True)]
    last = [b - a for a, b in zip(notes[-PART - 1], notes[-1], strict=True)]
    names = ("seconds", "processor_seconds_of_the_machine", "processor_seconds_of_the_grader")
    save(
        __file__,
        {
            "submissions": arguments.submissions,
            "seconds": whole,
            "all_at_full_marks": all(r["score"] == r["points"] for r in results),
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
