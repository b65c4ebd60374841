"""The files of Moodle: its zip of submissions, and the table of grades that it imports.

Moodle makes a folder `Full Name_1234567_assignsubmission_file_` for each student or, without folders, puts
that before each file's name (moodle, mod/assign/classes/downloader.php). The number is a participant's in
one assignment only, and the grading worksheet tells whose (`moodle_worksheet`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from autograder.errors import ExportError
from autograder.lms.grade_table import GradesByStudent, Table, match
from autograder.lms.moodle_worksheet import IDENTIFIER, Participant, read_worksheet
from autograder.lms.names import LmsName, numbered_id, student_id
from autograder.lms.system import FileName, Person
from autograder.points import as_shown
from autograder.tables import read_table, safe

if TYPE_CHECKING:
    import zipfile

    from autograder.grade.class_grades import Grade, Student
    from autograder.grade.groups import Groups

# The first number counts: Moodle leaves no underscore in a name, and whoever hands in a file names it.
FILE = re.compile(
    r"(?P<name>[^/]+?)_(?P<number>\d+)_assignsubmission_file(?:_?/(?:.*/)?|_)(?P<file>[^/]+)$"
)
TYPED = "_assignsubmission_onlinetext_"
# a participant's number in a remembered name, and columns of the grading worksheet
NUMBER = re.compile(r"_(\d+)_assignsubmission_file_")
GRADE, MAXIMUM = "Grade", "Maximum grade"


def folder(name: str, number: str) -> str:
    """How Moodle calls the folder of a participant's files; the number decides whose it is."""
    return f"{name.replace('_', ' ')}_{number}_assignsubmission_file_/"


class Moodle:
    """Moodle, as `system.System` describes it."""

    name = "moodle"
    title = "Moodle"
    download = "Download all submissions"
    upload = "Upload multiple feedback files in a zip"
    has_worksheet = True
    group_page = False
    way_to_id = "import with Moodle's grading worksheet (--roster), and with e-mail addresses in your roster"
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

    def table_of(
        self,
        grades: Sequence[Grade],
        roster: Path | None,
        known: Mapping[str, LmsName],
        notes: list[str],
    ) -> Table:
        """What *Upload grading worksheet* takes if that is the roster, else *Grades, Import, CSV file*."""
        if roster and is_worksheet(roster):
            return as_worksheet(grades, roster, known, notes)
        return as_moodle(grades, roster, notes)


def is_worksheet(path: Path) -> bool:
    """Whether a table is the grading worksheet of an assignment, with the column that its grades go into."""
    head, _ = read_table(path)
    return {"Identifier", GRADE} <= set(head)


def whose(
    participants: Sequence[Participant],
    students: Iterable[Student],
    known: Mapping[str, LmsName],
    notes: list[str],
) -> dict[str, Participant]:
    """The participant of a worksheet that each student is, by id.

    Found by the numbers that they have in the zip, else by what the worksheet says of them; of those in an
    anonymous assignment it says nothing.
    """
    numbers = {
        student: number[1]
        for student, name in known.items()
        if name.lms == Moodle.name and (number := NUMBER.search(name.prefix))
    }

    def names_of(row: list) -> list[str]:
        (one,) = row
        full = [one.full_name, student_id(one.full_name), numbered_id(one.full_name, one.number)]
        return [one.number, *one.identifiers, *(full if one.full_name else ())]

    numbered = [replace(s, lms_user_id=numbers.get(s.id, "")) for s in students]
    found = match(numbered, [[one] for one in participants], names_of, notes, "the worksheet")
    return {student: one for student, (one,) in found.items()}


def as_worksheet(
    grades: Sequence[Grade], path: Path, known: Mapping[str, LmsName], notes: list[str]
) -> Table:
    """The grading worksheet as Moodle gave it, with grades in it, for *Upload grading worksheet*.

    Rows of others stay as they are, and so do all other columns.
    Read from moodle, mod/assign/feedback/offline/importgradeslib.php.
    """
    found = GradesByStudent(grades)
    if len(found.exercises) != 1:
        raise ExportError(
            f"{path} is the grading worksheet of one assignment: say of which exercise with --exercise."
        )
    (exercise,), (maximum,) = found.exercises, found.maximum.values()
    participants = read_worksheet(path)
    head, rows = read_table(path)
    if MAXIMUM in head:
        for row in rows:
            possible = row[head.index(MAXIMUM)].strip().replace(",", ".")
            if re.fullmatch(r"\d+(\.\d+)?", possible) and float(possible) != maximum:
                raise ExportError(
                    f"{path}: Moodle gives {possible} points for this assignment, {exercise} has "
                    f"{as_shown(maximum)}. Set "
                    f"the maximum grade of the assignment to {as_shown(maximum)} and download the worksheet again."
                )
    matched = whose(participants, found.students.values(), known, notes)
    points = {one.number: found.of(student)[0] for student, one in matched.items()}
    place = head.index(GRADE)
    body = []
    for one, row in zip(participants, rows, strict=True):
        grade = points.get(one.number, row[place])
        body.append([*row[:place], grade, *row[place + 1 :]])
    return head, body


def as_moodle(grades: Sequence[Grade], roster: Path | None, notes: list[str]) -> Table:
    """A file that *Grades, Import, CSV file* in Moodle takes.

    Moodle lets one choose the column that tells whose a row is (`Map from`) and what is in it (`Map
    to`: user name, ID number or e-mail address, upper and lower case not being the same), and which
    column goes into which grade item. One row whose student isn't found ends the whole import, and
    a row with an empty identifier is given to the student of the row before, so only columns that
    tell everybody are written. In place of exported grades the roster may be the grading worksheet of an
    assignment: it tells two students of one name apart by the numbers that they have in the zip. Read
    from docs.moodle.org, Grade import, and from moodle, grade/import/csv/classes/load_data.php.
    """
    found = GradesByStudent(grades)
    if roster is None:
        notes.append(
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

        matched = match(found.students.values(), listed, keys, notes)
        own = {student: [row[i] for i in columns] for student, row in matched.items()}
    for student, cells in list(own.items()):
        if any(safe(cell) != cell for cell in cells):
            notes.append(
                f"{student} was left out: {cells} can't be written as it is. Enter it by hand."
            )
            del own[student]
    complete = [i for i in range(len(kinds)) if all(cells[i].strip() for cells in own.values())]
    if not complete or not own:
        raise ExportError(
            "Moodle needs a user name, ID number or e-mail address of every student: complete the "
            "roster in Moodle, or those of `nbgrader db student list`."
        )
    for exercise, maximum in found.maximum.items():
        notes.append(
            f"Moodle takes a grade as points: the maximum grade of {exercise} there has to be {as_shown(maximum)}."
        )
    head = [*(kinds[i] for i in complete), *found.exercises]
    return head, [[*(cells[i] for i in complete), *found.of(s)] for s, cells in own.items()]
