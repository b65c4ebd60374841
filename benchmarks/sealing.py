"""What sealed grading costs beside stock nbgrader, on the same honest submissions, interleaved.

python -m benchmarks.sealing
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from pathlib import Path

import nbformat
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory

from autograder.audit.sample_class import reference_answers, solved
from autograder.catalogue import alternative_answers, alternatives, solution_path
from autograder.grade.grade_class import Course
from benchmarks.record import save

EXERCISE = "ch2_scaled_dot_product"
SUBMISSIONS = 4
ROUNDS = 5


def honest_submissions() -> list[str]:
    """The reference and some alternatives, as notebooks."""
    program = solution_path(EXERCISE).read_text(encoding="utf-8")
    right = reference_answers(EXERCISE)
    answers = [right]
    for alternative in alternatives(EXERCISE)[: SUBMISSIONS - 1]:
        answers.append(right | alternative_answers(program, alternative))
    return [nbformat.writes(solved(EXERCISE, found)) for found in answers]


def stock(course: Course, student: str) -> None:
    """Grade one submission with nbgrader's own preprocessors."""
    config = course.config.copy()
    del config["Autograde"]
    config.CourseDirectory.assignment_id = EXERCISE
    config.CourseDirectory.student_id = student
    config.CourseDirectory.autograded_directory = str(course.home / "stock")
    converter = Autograde(coursedir=CourseDirectory(config=config), config=config)
    converter.force = True
    converter.log.setLevel(logging.CRITICAL)
    converter.start()


def main() -> None:
    """Time both on every submission in turn; report seconds per submission and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        course = Course(home=Path(folder))
        begun = time.perf_counter()
        course.prepare(EXERCISE)
        once = time.perf_counter() - begun
        students = []
        for number, text in enumerate(honest_submissions()):
            students.append(f"s{number}")
            path = course.folder("submitted", students[-1], EXERCISE) / f"{EXERCISE}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
        course.grade(students[0], EXERCISE)
        times: dict[str, list[float]] = {"sealed": [], "stock": []}
        for _ in range(ROUNDS):
            for name, grade in (("sealed", course.grade), ("stock", None)):
                begun = time.perf_counter()
                for student in students:
                    grade(student, EXERCISE) if grade else stock(course, student)
                times[name].append((time.perf_counter() - begun) / len(students))
        full = all(
            result["score"] == result["points"]
            for result in (course.result(student, EXERCISE) for student in students)
        )
    medians = {name: statistics.median(found) for name, found in times.items()}
    save(
        __file__,
        {
            "seconds_per_submission": medians,
            "ratio_sealed_to_stock": medians["sealed"] / medians["stock"],
            "seconds_once_per_class_and_exercise": once,
            "submissions": len(students),
            "rounds": ROUNDS,
            "all_at_full_marks": full,
        },
    )


if __name__ == "__main__":
    main()
