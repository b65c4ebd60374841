"""What follow-through costs: a fixed class, graded with it and without it in turn.

python -m benchmarks.follow_through
python -m benchmarks.follow_through --exercise ch2_scaled_dot_product --rounds 1

The class of each exercise, always the same for the same catalogue: 10 right submissions (the reference and
the alternatives in turn), 20 with one known mistake (each function in turn), 10 with mistakes in three
functions. Every submission is graded with and without, one right after the other, in alternating order.
Without means with an answer key that holds no right versions, so that no second kernel is started.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat

from autograder.catalogue import (
    alternative_answers,
    alternatives,
    mistake_answers,
    mistakes,
)
from autograder.course import Course, Exercise
from autograder.exercises import reference_answers, solved
from autograder.grade.answer_key import AnswerKey
from autograder.grade.examine import grade_submission
from autograder.grade.grade_class import Grader
from autograder.grade.submission import Submission, read_submission
from autograder.kernels import sandbox
from benchmarks.record import save

RIGHT, ONE, THREE = 10, 20, 10
LIMITS = {"right": 1.02, "all": 1.6}


@dataclass(frozen=True)
class Member:
    """A submission of the class; kind: "right", "one mistake" or "three mistakes"."""

    kind: str
    answers: dict[str, str]


def class_of(exercise: Exercise) -> list[Member]:
    """The class of an exercise."""
    program, right = exercise.program(), reference_answers(exercise)
    others = [alternative_answers(program, other) for other in alternatives(exercise)]
    found = [
        Member("right", right | answers)
        for answers in itertools.islice(itertools.cycle([{}, *others]), RIGHT)
    ]
    in_turn = _in_turn(exercise)
    found += [Member("one mistake", right | next(in_turn)) for _ in range(ONE)]
    for _ in range(THREE):
        answers = dict(right)
        for _ in range(3):
            answers |= next(in_turn)
        found.append(Member("three mistakes", answers))
    return found


def _in_turn(exercise: Exercise) -> Iterator[dict[str, str]]:
    """Wrong answers without end: each function in turn, and of each its known mistakes in turn."""
    program = exercise.program()
    wrong: dict[str, list[dict[str, str]]] = collections.defaultdict(list)
    for mistake in mistakes(exercise):
        wrong[mistake.function].append(mistake_answers(program, mistake))
    for number in itertools.count():
        for known in wrong.values():
            yield known[number % len(known)]


def measured(course: Course, exercise: Exercise, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of the class by kind, with and without, each the median of the rounds' sums."""
    grader = Grader(course)
    key = grader.key(exercise)
    keys = {"with": key, "without": replace(key, right_versions={})}
    sums: dict[tuple[str, str], list[float]] = collections.defaultdict(lambda: [0.0] * rounds)
    members = class_of(exercise)
    submissions = [_handed_in(course, exercise, n, one) for n, one in enumerate(members)]
    # the first grading starts the fork server, which would be charged to one side alone
    for one in keys.values():
        _seconds(submissions[0], one, grader)
    for number in range(rounds):
        for turn, (member, submission) in enumerate(zip(members, submissions, strict=True)):
            order = list(keys) if (turn + number) % 2 else list(reversed(keys))
            for name in order:
                sums[member.kind, name][number] += _seconds(submission, keys[name], grader)
    found: dict[str, dict[str, float]] = {}
    for (kind, name), seconds in sums.items():
        found.setdefault(kind, {})[name] = statistics.median(seconds)
    return found


def _handed_in(course: Course, exercise: Exercise, number: int, member: Member) -> Submission:
    student = f"s{number:04}"
    path = course.submitted / student / exercise.name / f"{exercise.name}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(solved(exercise, member.answers), path)
    return read_submission(course, student, exercise)


def _seconds(submission: Submission, key: AnswerKey, grader: Grader) -> float:
    begun = time.perf_counter()
    grade_submission(submission, key, grader.settings)
    return time.perf_counter() - begun


def ratios(found: dict[str, dict[str, float]]) -> dict[str, float]:
    """Time with follow-through to time without, of right submissions and of all."""
    total = {name: sum(one[name] for one in found.values()) for name in ("with", "without")}
    return {
        "right": found["right"]["with"] / found["right"]["without"],
        "all": total["with"] / total["without"],
    }


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exercise", action="append", help="by default all; can be given again")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder))
        exercises = [
            e
            for e in course.exercises()
            if arguments.exercise is None or e.name in arguments.exercise
        ]
        load = [os.getloadavg()[0]]
        found = {}
        for exercise in exercises:
            found[exercise.name] = measured(course, exercise, arguments.rounds)
            load.append(os.getloadavg()[0])
    kinds = next(iter(found.values()))
    everywhere = {
        kind: {name: sum(one[kind][name] for one in found.values()) for name in kinds[kind]}
        for kind in kinds
    }
    save(
        __file__,
        {
            "times_as_long_with_follow_through": ratios(everywhere),
            "by_exercise": {name: ratios(one) for name, one in found.items()},
            "limits": LIMITS,
            "seconds": found,
            "submissions_of_each_exercise": {"right": RIGHT, "one mistake": ONE, "three": THREE},
            "rounds": arguments.rounds,
            "load_averages": load,
            "sandbox": sandbox.why_not() or "on",
        },
    )


if __name__ == "__main__":
    main()
