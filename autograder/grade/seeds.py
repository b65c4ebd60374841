"""The secret seeds of a class: one for each exercise, and those of submissions after feedback.

Feedback is no oracle: a page tells expected values, to the student that it is for and to everybody who
is shown it. So the class's seed of an exercise holds for submissions that were graded before the first
feedback on that exercise was written. Every other one is graded on inputs of its own: its seed is derived
from the class's, the student, the exercise and the submission's digest. The same submission is always
graded on the same inputs, also when it is graded again.

Which submissions were graded by then is kept in the class folder, as told/EXERCISE.json. Deleting a
feedback page does not take it back; a new class seed does, because nothing has been told about its inputs.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.course import Course
from autograder.errors import ResultError
from autograder.files import digest_of, write_whole
from autograder.grade.result import Result

SEED_INTEGERS = 8


def class_seed(course: Course, exercise: str, new: bool = False) -> list[int]:
    """The secret seed of an exercise in this class, drawn once and kept beside the gradebook."""
    path = course.home / "seeds.json"
    seeds = json.loads(path.read_text()) if path.exists() else {}
    if new or exercise not in seeds:
        seeds[exercise] = [secrets.randbits(32) for _ in range(SEED_INTEGERS)]
        write_whole(path, json.dumps(seeds), mode=0o600)
    return seeds[exercise]


def _record(course: Course, exercise: str) -> Path:
    return course.home / "told" / f"{exercise}.json"


def graded_before_feedback(course: Course, exercise: str) -> Mapping[str, str] | None:
    """By student, the digest of the submission that was graded when the first feedback was written.

    None while nobody has been told anything about the inputs of the class's present seed.
    """
    try:
        told = json.loads(_record(course, exercise).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return told["graded"] if told["seed"] == digest_of(class_seed(course, exercise)) else None


def remember_told(course: Course, exercise: str) -> None:
    """Record, before feedback on an exercise is written, what has been graded on the class's seed."""
    if graded_before_feedback(course, exercise) is not None:
        return
    graded = {}
    for path in course.autograded.glob(f"*/{exercise}/{exercise}.result.json"):
        try:
            result = Result.read(path)
        except ResultError:
            # it is graded again, on inputs of its own
            continue
        graded[result.student] = result.basis.submission
    told = {"seed": digest_of(class_seed(course, exercise)), "graded": graded}
    write_whole(_record(course, exercise), json.dumps(told), mode=0o600)


def fresh_seed(
    course: Course, student: str, exercise: str, submission: str, seed: Sequence[int]
) -> tuple[int, ...] | None:
    """The seed of a submission that was not graded when feedback was first written; None when the
    class's holds.

    submission: its digest; seed: the class's, which has as many 32-bit integers.
    """
    graded = graded_before_feedback(course, exercise)
    if graded is None or graded.get(student) == submission:
        return None
    secret = json.dumps(list(seed)).encode()
    whose = json.dumps([student, exercise, submission]).encode()
    drawn = hashlib.shake_256(hmac.digest(secret, whose, "sha256")).digest(4 * len(seed))
    return tuple(int.from_bytes(drawn[i : i + 4], "little") for i in range(0, len(drawn), 4))
