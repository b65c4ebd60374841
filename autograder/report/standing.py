"""Who stands where: students by exercise, with what is missing, late or unread, from the gradebook."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.grade.class_grades import Grade
from autograder.grade.lateness import now


@dataclass(frozen=True)
class HandedIn:
    """Students by what is to be done about their work on one exercise.

    missing: have handed in nothing; late; unread: a written answer has not been read; look_again: what
    points were given for by hand has changed since; unseen: work that the grader could not look at.
    """

    missing: tuple[str, ...]
    late: tuple[str, ...]
    unread: tuple[str, ...]
    look_again: tuple[str, ...]
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A student over the exercises of a class.

    grades: by exercise; missing: how many exercises that are due were not handed in; trend: the share of
    the points of the last exercise that was handed in, minus the mean share of those before; None with
    fewer than two.
    """

    student: str
    grades: Mapping[str, Grade]
    missing: int
    mean: float
    trend: float | None


def handed_in(grades: Sequence[Grade]) -> HandedIn:
    """Who needs attention, of the grades of one exercise."""
    chosen = (
        [grade.student.id for grade in grades if is_one(grade)]
        for is_one in (
            lambda grade: not grade.submitter,
            lambda grade: grade.late,
            lambda grade: grade.unread > 0,
            lambda grade: grade.look_again,
            lambda grade: grade.unseen,
        )
    )
    return HandedIn(*map(tuple, chosen))


def share(grade: Grade) -> float:
    """A grade as a share of the points, without those of answers that nobody has read yet."""
    points = grade.max_score - grade.unread
    return grade.score / points if points else 0.0


def _is_due(grade: Grade) -> bool:
    return not grade.due or datetime.datetime.fromisoformat(grade.due) < now()


def by_student(grades: Sequence[Grade]) -> list[Row]:
    """A row for each student, first those who have handed in least, of these those with fewest points.

    grades: by student, the exercises of each in the course's order.
    """
    own: dict[str, list[Grade]] = {}
    for grade in grades:
        own.setdefault(grade.student.id, []).append(grade)
    rows = []
    for student, given in own.items():
        shares = [share(grade) for grade in given if grade.submitter]
        trend = shares[-1] - statistics.mean(shares[:-1]) if len(shares) > 1 else None
        missing = sum(not grade.submitter and _is_due(grade) for grade in given)
        mean = statistics.mean(shares) if shares else 0.0
        rows.append(Row(student, {grade.exercise: grade for grade in given}, missing, mean, trend))
    return sorted(rows, key=lambda row: (-row.missing, row.mean, row.student))
