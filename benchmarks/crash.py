"""Kill a grading run at random moments: is the gradebook whole, and is each grade there, once?

python -m benchmarks.crash

Before every run half of the submissions change; after every kill the gradebook is checked.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook

from autograder.audit.leftovers import left_running
from autograder.course import Course
from autograder.exercises import reference_answers, solved
from autograder.grade.gradebook import autograded_notebook, register, stored_result
from autograder.grade.submission import students
from autograder.package import PACKAGE_ROOT
from benchmarks.record import save

EXERCISE = "ch1_additive_attention"
STUDENTS = 12
RUN = f"""
import sys
from pathlib import Path
from autograder.course import Course
from autograder.grade.grade_class import grade_class
if __name__ == "__main__":
    course = Course(Path(sys.argv[1]), class_folder=Path(sys.argv[2]))
    grade_class(course, [course.exercise("{EXERCISE}")])
"""


def start(course: Course, script: Path) -> subprocess.Popen:
    """Grade what is not graded, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT)}
    command = [sys.executable, str(script), str(course.root), str(course.home)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


def hand_in(course: Course, number: int) -> None:
    """Lay a submission; every third one lacks its last answer. A new one differs from the last."""
    exercise = course.exercise(EXERCISE)
    answers = reference_answers(exercise)
    if number % 3 == 0:
        answers.popitem()
    path = course.submitted / f"s{number:02}" / EXERCISE / f"{EXERCISE}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = nbformat.writes(solved(exercise, answers)) + " " * random.randrange(1_000_000)
    path.write_text(text, encoding="utf-8")


def workers_running() -> list[bytes]:
    """Workers whose coordinator is gone; no other worker pool may run meanwhile."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes())
    return [line for line in found if b"autograder.grade.worker_pool" in line]


def scores(course: Course) -> dict[str, float]:
    """The recorded scores, by student; a student without a result is left out."""
    found = {}
    for student in students(course, course.exercise(EXERCISE)):
        result = stored_result(course, student, EXERCISE)
        if result is not None and autograded_notebook(course, student, EXERCISE).exists():
            found[student] = result.score
    return found


def look(course: Course) -> tuple[int, list[str]]:
    """How many submissions are graded, and what is wrong with what is recorded."""
    wrong = []
    with sqlite3.connect(course.home / "gradebook.db") as database:
        if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            wrong.append("the gradebook is corrupt")
    with Gradebook(course.db_url) as gradebook:
        submissions = gradebook.assignment_submissions(EXERCISE)
        recorded = {s.student.id: s.score for s in submissions}
        if len(recorded) != len(submissions):
            wrong.append("a grade is there twice")
    graded = scores(course)
    for student, score in graded.items():
        if recorded.get(student) != score:
            wrong.append(f"{student} has {recorded.get(student)}")
    return len(graded), wrong


def main() -> None:
    """Kill, look, go on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    arguments = parser.parse_args()
    random.seed(0)
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder) / "class")
        course.home.mkdir()
        script = Path(folder, "run.py")
        script.write_text(RUN)
        register(course, course.exercise(EXERCISE))
        for number in range(STUDENTS):
            hand_in(course, number)
        begun = time.perf_counter()
        start(course, script).wait()
        whole = time.perf_counter() - begun
        right = scores(course)
        found, moments, survived, finished = [], [], 0, 0
        for _ in range(arguments.kills):
            for number in range(STUDENTS):
                if random.random() < 0.5:
                    hand_in(course, number)
            process = start(course, script)
            moments.append(random.uniform(0.1, 1.0) * whole)
            try:
                process.wait(moments[-1])
                finished += 1
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            # one that was about to import ends when it has
            for _ in range(10):
                time.sleep(1)
                if not workers_running():
                    break
            survived += len(left_running()) + len(workers_running())
            count, wrong = look(course)
            found += wrong + ([] if count == STUDENTS else [f"{STUDENTS - count} grades lost"])
        start(course, script).wait()
        _, wrong = look(course)
        last = scores(course)
    save(
        __file__,
        {
            "kills": arguments.kills - finished,
            "ended_before_the_kill": finished,
            "seconds_of_a_whole_run": whole,
            "found_wrong_after_a_kill": found,
            "found_wrong_at_the_end": wrong,
            "same_scores_at_the_end": last == right,
            "processes_left_running": survived,
            "submissions": STUDENTS,
        },
    )


if __name__ == "__main__":
    main()
