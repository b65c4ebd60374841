"""What grading in a kernel of its own costs beside stock nbgrader, on the same honest submissions.

python -m benchmarks.sealing

Both take turns.
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

from autograder.catalogue import alternative_answers, alternatives
from autograder.course import Course, Exercise
from autograder.exercises import reference_answers, solved
from autograder.grade.grade_class import Grader
from autograder.grade.gradebook import Recorder, register, stored_result
from benchmarks.record import save

EXERCISE = "ch2_scaled_dot_product"
# nbgrader's own, which nbgrader_config.py replaces when a course's settings are read
STOCK_START = Autograde.start
SUBMISSIONS = 4
ROUNDS = 5


def honest_submissions(exercise: Exercise) -> list[str]:
    """The reference and some alternatives, as notebooks."""
    program, right = exercise.program(), reference_answers(exercise)
    answers = [right]
    for alternative in alternatives(exercise)[: SUBMISSIONS - 1]:
        answers.append(right | alternative_answers(program, alternative))
    return [nbformat.writes(solved(exercise, found)) for found in answers]


def stock(course: Course, student: str) -> None:
    """Grade one submission with nbgrader's own preprocessors."""
    config = course.config.copy()
    config.CourseDirectory.assignment_id = EXERCISE
    config.CourseDirectory.student_id = student
    config.CourseDirectory.autograded_directory = str(course.home / "stock")
    converter = Autograde(coursedir=CourseDirectory(config=config), config=config)
    converter.force = True
    converter.log.setLevel(logging.CRITICAL)
    STOCK_START(converter)


def main() -> None:
    """Time both on every submission in turn; report seconds per submission and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder))
        exercise = course.exercise(EXERCISE)
        begun = time.perf_counter()
        register(course, exercise)
        grader = Grader(course)
        grader.key(exercise)
        once = time.perf_counter() - begun
        students = []
        for number, text in enumerate(honest_submissions(exercise)):
            students.append(f"s{number}")
            path = course.submitted / students[-1] / EXERCISE / f"{EXERCISE}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
        recorder = Recorder(course)

        def sealed(student: str) -> None:
            recorder.record(grader.grade(student, exercise))

        kinds = {"sealed": sealed, "stock": lambda student: stock(course, student)}
        sealed(students[0])
        times: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(ROUNDS):
            for name, grade in kinds.items():
                begun = time.perf_counter()
                for student in students:
                    grade(student)
                times[name].append((time.perf_counter() - begun) / len(students))
        results = [stored_result(course, student, EXERCISE) for student in students]
        full = all(result.score == result.points for result in results)
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
