"""Grades by student as a table, and the rows of a roster that belong to the students of a gradebook."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from autograder.errors import ExportError
from autograder.lms.names import student_id
from autograder.points import as_shown

if TYPE_CHECKING:
    from autograder.grade.class_grades import Grade, Student

# a head and rows
Table = tuple[list[str], list[list]]


class GradesByStudent:
    """Grades by student and exercise."""

    def __init__(self, grades: Sequence[Grade]) -> None:
        self.maximum = {grade.exercise: as_shown(grade.max_score) for grade in grades}
        self.exercises = list(self.maximum)
        self.students = {grade.student.id: grade.student for grade in grades}
        self._scores = {(grade.student.id, grade.exercise): grade.score for grade in grades}

    def of(self, student: str) -> list[float]:
        """A student's scores in the order of the exercises."""
        return [as_shown(self._scores[student, exercise]) for exercise in self.exercises]


def match(
    students: Iterable[Student],
    rows: Sequence[list],
    names_of: Callable[[list], Iterable[str]],
    notes: list[str],
    where: str = "the roster",
) -> dict[str, list]:
    """The roster's row of each student, by id; who has none, more than one, or another one's is left out.

    names_of: what a row may call its student; notes: sentences for the instructor are added to it; where:
    what the rows are of, as the sentences call it.
    """
    known: dict[str, list[list]] = {}
    for row in rows:
        for name in {name.strip() for name in names_of(row)} - {""}:
            known.setdefault(name, []).append(row)
    found: dict[str, list] = {}
    several: list[str] = []
    missing: list[str] = []
    for student in students:
        full = f"{student.first_name} {student.last_name}"
        by_name = student_id(full) if student.first_name and student.last_name else ""
        names = (student.lms_user_id, student.id, student.email, by_name)
        hits = next((known[name] for name in names if name in known), [])
        if len(hits) == 1:
            found[student.id] = hits[0]
        else:
            (several if hits else missing).append(student.id)
    taken = collections.Counter(id(row) for row in found.values())
    twice = [name for name, row in found.items() if taken[id(row)] > 1]
    for name in twice:
        del found[name]
    for why, left_out in (
        (f"Not in {where}", missing),
        (f"Like several students in {where}", several),
        (f"Like a student in {where} whom another one is like, too", twice),
    ):
        if left_out:
            notes.append(f"{why}, and left out: {', '.join(left_out)}.")
    if not found:
        raise ExportError(f"No student of the gradebook is in {where}: is it that of this class?")
    return found
