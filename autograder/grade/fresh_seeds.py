"""Feedback is no oracle: who has been told about which submission, and the seeds that follow from it.

A feedback page tells expected values. A submission that differs from one whose feedback has been written
is therefore graded on inputs that no page has told anything about: its seed is derived from the class's
secret seed, the student, the exercise and the submission's digest. So the same submission is always
graded on the same inputs, also when it is graded again, and no two submissions of a student share theirs
once feedback has been written.

What has been told is kept in the class folder, as told/EXERCISE/STUDENT with a submission's digest in
every line. Deleting a feedback page does not take it back.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.course import Course
from autograder.errors import writing

if TYPE_CHECKING:
    from autograder.grade.result import Result

FOLDER = "told"


def _record(course: Course, student: str, exercise: str) -> Path:
    return course.home / FOLDER / exercise / student


def told_submissions(course: Course, student: str, exercise: str) -> set[str]:
    """Digests of a student's submissions whose feedback has been written."""
    try:
        text = _record(course, student, exercise).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return set()
    return set(text.split())


def remember_told(course: Course, result: Result) -> None:
    """Record, before a result's feedback is written, that its student is told about the submission."""
    digest = result.basis.submission
    if not digest or digest in told_submissions(course, result.student, result.exercise):
        return
    path = _record(course, result.student, result.exercise)
    with writing(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # one short line is appended whole, so two processes may record at once
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{digest}\n")


def fresh_seed(
    course: Course, student: str, exercise: str, submission: str, class_seed: Sequence[int]
) -> tuple[int, ...] | None:
    """The seed of a submission handed in after feedback about another one; None when the class's holds.

    submission: its digest. The seed has as many 32-bit integers as the class's.
    """
    if not told_submissions(course, student, exercise) - {submission}:
        return None
    secret = json.dumps(list(class_seed)).encode()
    whose = json.dumps([student, exercise, submission]).encode()
    drawn = hashlib.shake_256(hmac.digest(secret, whose, "sha256")).digest(4 * len(class_seed))
    return tuple(int.from_bytes(drawn[i : i + 4], "little") for i in range(0, len(drawn), 4))
