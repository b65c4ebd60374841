"""The files of Moodle: its zip of submissions, and the table of grades that it imports.

Moodle makes a folder `Full Name_1234567_assignsubmission_file_` for each student or, without folders, puts
that before each file's name (moodle, mod/assign/classes/downloader.php). The number is a participant's in
one assignment only, and the grading worksheet tells whose (`moodle_worksheet`).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from autograder.errors import ExportError
from autograder.grade.class_grades import Grade
from autograder.grade.groups import Groups
from autograder.lms.grade_table import GradesByStudent, Table, match
from autograder.lms.moodle_worksheet import IDENTIFIER, Participant
from autograder.lms.names import LmsName, numbered_id, student_id
from autograder.lms.system import FileName, Person
from autograder.tables import read_table, safe

FILE = re.compile(
    r"(?P<name>[^/]+)_(?P<number>\d+)_assignsubmission_file(?:_?/(?:.*/)?|_)(?P<file>[^/]+)$"
)
TYPED = "_assignsubmission_onlinetext_"


def folder(name: str, number: str) -> str:
    """How Moodle calls the folder of a participant's files; the number decides whose it is."""
    return f"{name.replace('_', ' ')}_{number}_assignsubmission_file_/"


class Moodle:
    """Moodle, as `system.System` describes it."""

    name = "moodle"
    title = "Moodle"
    has_worksheet = True
    group_page = False
    way_back = "Give the grading worksheet with --roster."

    def read_name(self, path: PurePosixPath) -> FileName | None:
        """What the folder of a file says, or what stands before its name."""
        found = FILE.search(str(path))
        return FileName(found["name"], found["number"], found["file"]) if found else None

    def is_typed(self, path: PurePosixPath) -> bool:
        """Whether a student has typed in a text."""
        return TYPED in str(path)

    def own_id(self, name: str, number: str) -> str:
        """Like `Full_Name`."""
        return student_id(name)

    def ids_of_names(self, first: str, last: str) -> Iterable[str]:
        """A site decides which name comes first."""
        return student_id(f"{first} {last}"), student_id(f"{last} {first}")

    def names_of(
        self, person: Person, participants: Mapping[str, Participant], groups: Sequence[str]
    ) -> list[str]:
        """What the worksheet has of this number, then the name.

        Older versions put the name of the group and a hyphen before the name of a member.
        """
        before = [f"{group}-" for group in groups]
        cut = [person.name.removeprefix(b) for b in before if person.name.startswith(b)]
        known = participants.get(person.number)
        names = student_id(person.name), *map(student_id, cut)
        return [*(known.identifiers if known else ()), *names]

    def name_for_feedback(
        self, person: Person, entry: zipfile.ZipInfo, groups: Groups
    ) -> LmsName | None:
        """The participant's folder; the number of a group is no participant's."""
        if person.name in groups.by_student.values():
            return None
        return LmsName(self.name, folder(person.name, person.number))

    def grades(self, given: Sequence[Grade], roster: Path | None, told: list[str]) -> Table:
        """What *Grades, Import, CSV file* takes; see `as_moodle`."""
        return as_moodle(given, roster, told)


def as_moodle(given: Sequence[Grade], roster: Path | None, told: list[str]) -> Table:
    """A file that *Grades, Import, CSV file* in Moodle takes.

    Moodle lets one choose the column that tells whose a row is (`Map from`) and what is in it (`Map
    to`: user name, ID number or e-mail address, upper and lower case not being the same), and which
    column goes into which grade item. One row whose student isn't found ends the whole import, and
    a row with an empty identifier is given to the student of the row before, so only columns that
    tell everybody are written. In place of exported grades the roster may be the grading worksheet of an
    assignment: it tells two students of one name apart by the numbers that they have in the zip. Read
    from docs.moodle.org, Grade import, and from moodle, grade/import/csv/classes/load_data.php.
    """
    found = GradesByStudent(given)
    if roster is None:
        told.append(
            "Without --roster the ids of the gradebook are taken for Moodle's user names. One that Moodle "
            "does not know ends its whole import."
        )
        kinds = ["Username", "Email address"]
        own = {student.id: [student.id, student.email] for student in found.students.values()}
    else:
        names, listed = read_table(roster)
        kinds = [n for n in names if n.casefold() in ("username", "id number", "email address")]
        if not kinds:
            raise ExportError(
                f"{roster} has no column Username, ID number or Email address. In Moodle, in English, "
                "choose Grades, Export, Plain text file."
            )
        columns = [names.index(kind) for kind in kinds]
        # a zip from Moodle calls students by their full names
        first = [names.index(n) for n in names if n in ("First name", "Last name", "Surname")]
        full = names.index("Full name") if "Full name" in names else None
        number = names.index("Identifier") if "Identifier" in names else None

        def keys(row: list) -> list[str]:
            called = [student_id(" ".join(row[i] for i in order)) for order in (first, first[::-1])]
            if full is not None:
                called.append(student_id(row[full]))
                if number is not None:
                    called.append(numbered_id(row[full], row[number].removeprefix(IDENTIFIER)))
            return [*(row[i] for i in columns), *called]

        matched = match(found.students.values(), listed, keys, told)
        own = {student: [row[i] for i in columns] for student, row in matched.items()}
    for student, cells in list(own.items()):
        if any(safe(cell) != cell for cell in cells):
            told.append(f"{student} was left out: {cells} would be a formula. Enter it by hand.")
            del own[student]
    complete = [i for i in range(len(kinds)) if all(cells[i].strip() for cells in own.values())]
    if not complete or not own:
        raise ExportError(
            "Moodle needs a user name, ID number or e-mail address of every student: complete the "
            "roster in Moodle, or those of `nbgrader db student list`."
        )
    for exercise, maximum in found.maximum.items():
        told.append(
            f"Moodle takes a grade as points: the maximum grade of {exercise} there has to be {maximum:g}."
        )
    head = [*(kinds[i] for i in complete), *found.exercises]
    return head, [[*(cells[i] for i in complete), *found.of(s)] for s, cells in own.items()]
