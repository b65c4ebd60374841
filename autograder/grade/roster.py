"""The roster: a table of a class's students, into nbgrader's gradebook.

nbgrader's own import takes neither a byte order mark nor semicolons nor other encodings than UTF-8, which is what
spreadsheet programs write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.course import Course
from autograder.errors import TableError
from autograder.nbgrader_adapter import make_folder_of, transaction
from autograder.tables import REPLACEMENT, decoded, read_csv

COLUMNS = ("first_name", "last_name", "email", "lms_user_id")
# what a spreadsheet program makes of a long number
ROUNDED = re.compile(r"\d+(?:[.,]\d+)?E\+\d+|\d+\.0", re.IGNORECASE)


@dataclass
class RosterImport:
    """What an import did: ids of students, and sentences for the instructor."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_roster(path: Path) -> dict[str, dict[str, str]]:
    """The students of a table with a column id: what it says of each, without what is empty.

    Raises TableError, naming the line.
    """
    found: dict[str, dict[str, str]] = {}
    for number, row in read_csv(path, ("id",)):
        place, student = f"{path}, line {number}", row["id"]
        if not student:
            raise TableError(f"{place}: there is no id. Give each student one.")
        if student in found:
            raise TableError(f"{place}: {student} is in a line above, too. Keep one of them.")
        if ROUNDED.fullmatch(student):
            raise TableError(
                f"{place}: {student} is a number as a spreadsheet program rounds it. Format the column id as "
                "text, enter the ids again and save the table again."
            )
        if not student.isprintable() or REPLACEMENT in student:
            raise TableError(
                f"{place}: {student!r} holds a character that can't be seen or read. Enter the id again."
            )
        if "/" in student or student.startswith("."):
            raise TableError(
                f"{place}: {student!r} can't be the name of a folder, as an id has to be: leave out / and a dot "
                "at the beginning."
            )
        found[student] = {name: row[name] for name in COLUMNS if row.get(name)}
    return found


def import_roster(course: Course, path: Path) -> RosterImport:
    """Add a table's students to the gradebook, or bring up to date what it says of them; all or nothing.

    What the table doesn't say of a student stays, and so do students who aren't in it. Raises TableError.
    """
    roster = read_roster(path)
    done = RosterImport()
    make_folder_of(course.db_url)
    with transaction(course.db_url) as gradebook:
        known = {student.id: student for student in gradebook.students}
        for student, own in roster.items():
            before = known.get(student)
            if before is None:
                done.added.append(student)
            elif any((getattr(before, name) or "") != value for name, value in own.items()):
                done.changed.append(student)
            else:
                done.unchanged.append(student)
            gradebook.update_or_create_student(student, **own)
        gradebook.db.commit()
    _, encoding = decoded(path)
    if encoding == "cp1252":
        done.notes.append(
            f"{path} isn't in UTF-8 and was read as cp1252: look whether names with accents are right."
        )
    others = sorted(set(known) - set(roster))
    done.notes += _lost_zeros(roster, others)
    if others:
        done.notes.append(
            f"In the gradebook and not in this table: {', '.join(others[:5])}{', ...' if len(others) > 5 else ''}. If "
            f"they have left the class, move their folders out of {course.submitted} and remove them with `nbgrader db "
            "student remove ID --force`."
        )
    return done


def _lost_zeros(roster: Mapping[str, object], others: Collection[str]) -> list[str]:
    """A sentence where spreadsheet programs seem to have dropped the zeros at the beginning of ids.

    others: the gradebook's students who aren't in the roster.
    """
    numbers = [student for student in roster if student.isdecimal()]
    lengths = {len(number) for number in numbers}
    short = [number for number in numbers if len(number) < max(lengths)]
    shortened = [n for n in numbers if any(o != n and o.lstrip("0") == n for o in others)]
    suspects = shortened or (short if len(numbers) == len(roster) else [])
    if not suspects:
        return []
    return [
        f"Have ids lost zeros at their beginning? A spreadsheet program drops them: {', '.join(suspects[:5])}"
        f"{', ...' if len(suspects) > 5 else ''}. If so, format the column id as text, enter the ids again, and "
        "remove the wrong students with `nbgrader db student remove`."
    ]
