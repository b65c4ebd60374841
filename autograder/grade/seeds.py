"""The secret seeds of a class: for each exercise, for later rounds, and for work that is handed in again.

Feedback is no oracle: a page tells expected values, to the student that it is for and to everybody who
is shown it. So what a page has told about is used for nobody who could have read it:

- Rounds. The class's seed holds for students whose submissions were graded before the first feedback on
  the exercise was written. That ends a round: who is graded for the first time after it is graded on the
  next round's seed, until feedback about that one is written, and so on. A round costs one evaluation of
  what is expected, however many hand in late.
- Another submission of a student who has been in a round that has ended is graded on a seed of its own,
  derived from the student and the submission's digest.

All are derived from the class's seed, and the same submission is always graded on the same inputs, also
when it is graded again. What was graded in which round is kept in the class folder, as
told/EXERCISE.json. Deleting a feedback page does not take it back; a new class seed does, because nothing
has been told about its inputs.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from autograder.course import Course
from autograder.errors import ResultError
from autograder.files import digest_of, write_whole
from autograder.grade.result import Result

SEED_INTEGERS = 8


def new_seed() -> list[int]:
    """A secret seed that nothing was drawn from yet."""
    return [secrets.randbits(32) for _ in range(SEED_INTEGERS)]


def class_seed(course: Course, exercise: str, new: bool = False) -> list[int]:
    """The secret seed of an exercise in this class, drawn once and kept beside the gradebook."""
    path = course.home / "seeds.json"
    seeds = json.loads(path.read_text()) if path.exists() else {}
    if new or exercise not in seeds:
        seeds[exercise] = new_seed()
        write_whole(path, json.dumps(seeds), mode=0o600)
    return seeds[exercise]


@dataclass(frozen=True)
class FreshSeed:
    """A seed that isn't the class's: as many 32-bit integers, of one student's or of a later round."""

    integers: tuple[int, ...]
    student: str = ""
    round: int = 0


@dataclass(frozen=True)
class _Rounds:
    """What has been told about an exercise under one class seed, of which seed is a digest.

    rounds: how many have ended; graded: by student, the digest of the first submission that was graded
    when a round ended, and the round's number.
    """

    seed: str
    rounds: int = 0
    graded: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    @staticmethod
    def read(course: Course, exercise: str) -> _Rounds:
        now = _Rounds(digest_of(class_seed(course, exercise)))
        try:
            recorded = _Rounds(**json.loads(_record(course, exercise).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return now
        return recorded if recorded.seed == now.seed else now


def _record(course: Course, exercise: str) -> Path:
    return course.home / "told" / f"{exercise}.json"


def has_feedback(course: Course, exercise: str) -> bool:
    """Whether feedback on an exercise has been written since the class's present seed was drawn."""
    return _Rounds.read(course, exercise).rounds > 0


def end_round(course: Course, result: Result) -> None:
    """Record, before a result's feedback is written, that its round has ended."""
    exercise = result.exercise
    recorded = _Rounds.read(course, exercise)
    if result.student in recorded.graded:
        # its round has ended before, or its seed is its own
        return
    graded = dict(recorded.graded)
    for path in course.autograded.glob(f"*/{exercise}/{exercise}.result.json"):
        try:
            found = Result.read(path)
        except ResultError:
            # it is graded again, in the next round
            continue
        graded.setdefault(found.student, (found.basis.submission, recorded.rounds))
    ended = _Rounds(recorded.seed, recorded.rounds + 1, graded)
    write_whole(_record(course, exercise), json.dumps(asdict(ended)), mode=0o600)


def fresh_seed(
    course: Course, student: str, exercise: str, submission: str, seed: Sequence[int]
) -> FreshSeed | None:
    """The seed of a submission; None when it is the class's.

    submission: its digest; seed: the class's.
    """

    def derived(*whose: str | int) -> tuple[int, ...]:
        secret = json.dumps(list(seed)).encode()
        digest = hmac.digest(secret, json.dumps([exercise, *whose]).encode(), "sha256")
        drawn = hashlib.shake_256(digest).digest(4 * len(seed))
        return tuple(int.from_bytes(drawn[i : i + 4], "little") for i in range(0, len(drawn), 4))

    recorded = _Rounds.read(course, exercise)
    first, number = recorded.graded.get(student, (submission, recorded.rounds))
    if first != submission:
        return FreshSeed(derived(student, submission), student)
    return FreshSeed(derived(number), round=number) if number else None
