"""Groups: students who hand in one submission together and get its grade, each of them.

The rule: a submission of their own counts for whoever has handed it in. For the other members of the
group the best one counts; of equally good ones that of the member who is first in the roster. So nobody
can lower a grade that somebody else has earned.

Groups are kept by exercise in the folder of the class, as groups.json. The gradebook holds the one
submission; each member's grade is derived from it where grades leave for elsewhere, so that points
given by hand count for all of them.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.course import Course, Exercise
from autograder.errors import GroupError
from autograder.files import PRIVATE, write_whole
from autograder.grade.lateness import Extension, refuse_unknown_student
from autograder.nbgrader_adapter import gradebook_exists, transaction
from autograder.tables import read_csv

FILE = "groups.json"


@dataclass(frozen=True)
class Groups:
    """Who works together on an exercise. by_student: the group of each, in the roster's order."""

    by_student: Mapping[str, str] = field(default_factory=dict)

    def members(self, student: str) -> tuple[str, ...]:
        """The students of a student's group, in the roster's order; of one without a group, the student."""
        if student not in self.by_student:
            return (student,)
        name = self.by_student[student]
        return tuple(other for other, group in self.by_student.items() if group == name)

    def are_together(self, students: Collection[str]) -> bool:
        """Whether some students are members of one group."""
        return set(students) <= set(self.members(next(iter(students))))

    def submitter(self, student: str, handed_in: Mapping[str, Any]) -> str | None:
        """Whose submission counts for a student, by the rule above; None when there is none.

        handed_in: who has handed in, and how good it is: what can be compared.
        """
        if student in handed_in:
            return student
        own = [member for member in self.members(student) if member in handed_in]
        # of equal ones, max takes the first
        return max(own, key=handed_in.__getitem__, default=None)

    def notes(self, handed_in: Mapping[str, Any]) -> list[str]:
        """A sentence for every group several of whose members have handed in."""
        sentences = []
        for name in dict.fromkeys(self.by_student.values()):
            members = [student for student, group in self.by_student.items() if group == name]
            own = [student for student in members if student in handed_in]
            others = [student for student in members if student not in handed_in]
            if len(own) > 1:
                for_others = (
                    f"; for {', '.join(others)} counts the best, {self.submitter(others[0], handed_in)}'s"
                    if others
                    else ""
                )
                sentences.append(
                    f"Group {name}: {', '.join(own)} have handed in submissions of their own, which count "
                    f"for them{for_others}."
                )
        return sentences


def read_groups(course: Course, exercise: str) -> Groups:
    """The groups of an exercise; none when nobody has set any."""
    return Groups(_stored(course).get(exercise, {}))


def _stored(course: Course) -> dict[str, dict[str, str]]:
    path = course.home / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_roster(path: Path) -> Groups:
    """The groups in a roster, a CSV file with the columns id and group; who has no group works alone.

    Raises GroupError, naming the line, for a student who is listed twice, and for a group written in two ways.
    """
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    written: dict[str, str] = {}
    for number, row in read_csv(path, ("id", "group")):
        student, group = row["id"], row["group"]
        if not student:
            raise GroupError(f"{path}, line {number}: there is no id. Nothing was written.")
        if student in lines:
            raise GroupError(
                f"{path}, line {number}: {student} is in line {lines[student]} already. A student is in one "
                "group, once. Nothing was written."
            )
        lines[student] = number
        plain = unicodedata.normalize("NFKC", " ".join(group.split())).casefold()
        if (before := written.setdefault(plain, group)) != group:
            raise GroupError(
                f"{path}, line {number}: the group {group!r} is {before!r} above. Write it in one way. "
                "Nothing was written."
            )
        if group:
            found[student] = group
    return Groups(found)


def set_groups(course: Course, exercises: Sequence[Exercise], groups: Groups) -> None:
    """Record the groups of some exercises, in place of the ones before.

    Raises GradebookError for a student whom the gradebook doesn't know; then nothing is written.
    """
    known: list[str] = []
    if gradebook_exists(course.db_url):
        with transaction(course.db_url) as gradebook:
            known = [student.id for student in gradebook.students]
    for student in groups.by_student:
        refuse_unknown_student(student, known)
    stored = _stored(course) | {exercise.name: dict(groups.by_student) for exercise in exercises}
    write_whole(course.home / FILE, json.dumps(stored, indent=1, ensure_ascii=False), PRIVATE)


def for_all_members(course: Course, extensions: Sequence[Extension]) -> list[Extension]:
    """Extensions of a group's members as extensions of all of its members.

    Raises GroupError when two members are given different ones.
    """
    found: dict[tuple[str, str], Extension] = {}
    for given in extensions:
        # it may be called by its chapter
        extension = replace(given, exercise=course.exercise(given.exercise).name)
        for member in read_groups(course, extension.exercise).members(extension.student):
            key = member, extension.exercise
            if key in found and found[key].time != extension.time:
                raise GroupError(
                    f"{extension.student} and others of the same group are given different extensions of "
                    f"{extension.exercise}. A group has one; nothing was written."
                )
            found[key] = replace(extension, student=member)
    return list(found.values())
