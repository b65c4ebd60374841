"""The files of Canvas: its zip of submissions, and the table of grades that it imports.

Canvas names a file `lastnamefirst_LATE_12345_67890_name-1.ipynb`, with the numbers of user and attachment
(canvas-lms, lib/content_zipper.rb). The user's number is the same in all assignments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from autograder.errors import ExportError
from autograder.lms.grade_table import GradesByStudent, Table, match
from autograder.lms.names import LmsName, canvas_id
from autograder.lms.system import FileName, Person
from autograder.points import as_shown
from autograder.tables import read_table

if TYPE_CHECKING:
    import zipfile

    from autograder.grade.class_grades import Grade
    from autograder.grade.groups import Groups
    from autograder.lms.moodle_worksheet import Participant

# In an assignment that is graded anonymously, Canvas puts a random word in place of the user's number.
FILES = (
    re.compile(
        r"(?P<late>LATE_)?(?P<name>anon)_(?P<number>[^\W_]+)_(?P<order>\d+)_(?P<file>[^/]+)"
    ),
    re.compile(r"(?P<name>[^/]+?)_(?P<late>LATE_)?(?P<number>\d+)_(?P<order>\d+)_(?P<file>[^/]+)"),
)
TYPED = re.compile(r"_(?:LATE_)?\d+_(?:text|link)\.html$")
# what Canvas writes in place of a grade for a student who is excused
EXCUSED = "EX"


class Canvas:
    """Canvas, as `system.System` describes it."""

    name = "canvas"
    title = "Canvas"
    download = "Download Submissions"
    upload = "Upload Submissions"
    has_worksheet = False
    group_page = True
    way_to_id = "add the number in Canvas to the roster (lms_user_id)"
    way_back = "Send their feedback with `python -m autograder push --comments`, or by hand."

    def read_name(self, path: PurePosixPath) -> FileName | None:
        """What the name of a file says."""
        found = next(filter(None, (pattern.fullmatch(path.name) for pattern in FILES)), None)
        if found is None:
            return None
        # the later attachment is the newer one
        order, late = int(found["order"]), bool(found["late"])
        return FileName(found["name"], found["number"], found["file"], late, order)

    def is_typed(self, path: PurePosixPath) -> bool:
        """Whether a student has typed in a text or a link."""
        return TYPED.search(path.name) is not None

    def own_id(self, name: str, number: str) -> str:
        """Like `lastnamefirst_12345`."""
        return canvas_id(name, number)

    def ids_of_names(self, first: str, last: str) -> Iterable[str]:
        """Canvas sorts by the last name."""
        return (canvas_id(f"{last}, {first}", ""),)

    def names_of(
        self, person: Person, participants: Mapping[str, Participant], groups: Sequence[str]
    ) -> list[str]:
        """The user's number, the name, both."""
        own = canvas_id(person.name, person.number)
        return [person.number, canvas_id(person.name, ""), own]

    def name_for_feedback(
        self, person: Person, entry: zipfile.ZipInfo, groups: Groups
    ) -> LmsName | None:
        """What stands before the name that the student gave the file."""
        (file,) = (file for file, _, own in person.files if own is entry)
        return LmsName(self.name, PurePosixPath(entry.filename).name.removesuffix(file))

    def table_of(
        self,
        grades: Sequence[Grade],
        roster: Path | None,
        known: Mapping[str, LmsName],
        notes: list[str],
    ) -> Table:
        """What *Import* in Canvas's gradebook takes; see `as_canvas`."""
        return as_canvas(grades, roster, notes)


def as_canvas(grades: Sequence[Grade], roster: Path | None, notes: list[str]) -> Table:
    """A file that *Import* in Canvas's gradebook takes.

    Canvas wants the columns Student, ID, SIS Login ID (SIS User ID before it if there is one) and
    Section, in this order, then assignments as `Title (id)`, and a row whose first cell contains
    Points Possible. It finds a student by ID, then SIS User ID, SIS Login ID, name; and an
    assignment by the id in parentheses, then by title; another title makes a new assignment. An
    empty cell would take a grade away, and other columns would be imported, too, so neither is
    written. Who is excused has EX in place of points, and would lose that by any number. With the option
    Split student names there are two columns, LastName and FirstName, in place of Student. Read from
    canvas-lms, lib/gradebook_importer.rb and lib/gradebook_exporter.rb.
    """
    found = GradesByStudent(grades)
    possible = [found.maximum[exercise] for exercise in found.exercises]
    if roster is None:
        notes.append(
            "Without --roster, Canvas finds students by login only, and makes new assignments unless "
            "they are called as the exercises are."
        )
        head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
        own = {
            student.id: [student.full_name, student.lms_user_id, "", student.id, ""]
            for student in found.students.values()
        }
        titles = found.exercises
        excused: dict[str, list[str]] = {}
    else:
        names, listed = read_table(roster)
        with_names = "Student" in names[0] or names[:2] == ["LastName", "FirstName"]
        if "ID" not in names or "Section" not in names or not with_names:
            raise ExportError(
                f"{roster} is not a gradebook that Canvas has exported: it needs the columns Student, ID "
                "and Section. In Canvas choose Grades, Export, Export Entire Gradebook."
            )
        head = names[: names.index("Section") + 1]
        points = next((row for row in listed if "Points Possible" in row[0]), None)
        titles = [_canvas_title(names, points, e, found.maximum[e], notes) for e in found.exercises]
        number, *ids = [names.index(n) for n in ("ID", "SIS User ID", "SIS Login ID") if n in names]
        people = [row for row in listed if row is not points and row[number]]
        # a zip from Canvas calls students by name and number
        called = lambda row: canvas_id("".join(row[: names.index("ID")]), row[number])
        keys = lambda row: [row[number], *(row[i] for i in ids), called(row)]
        matched = match(found.students.values(), people, keys, notes)
        own = {student: row[: len(head)] for student, row in matched.items()}
        in_canvas = {t: names.index(t) for t in titles if t in names}
        excused = {
            student: [t for t, i in in_canvas.items() if row[i].strip().upper() == EXCUSED]
            for student, row in matched.items()
        }
    top = ["    Points Possible", *[""] * (len(head) - 1), *possible]
    body = [top]
    for student, row in own.items():
        scores = zip(titles, found.of(student), strict=True)
        kept = excused.get(student, [])
        body.append([*row, *(EXCUSED if title in kept else score for title, score in scores)])
    return [*head, *titles], body


def _canvas_title(
    names: Sequence[str], points: list | None, exercise: str, maximum: float, notes: list[str]
) -> str:
    """The roster's column of an exercise, `Title (id)`; the exercise's name when it has none."""
    for number, name in enumerate(names):
        title = re.sub(r" \(\d+\)$", "", name)
        if title.strip().casefold() == exercise.casefold():
            shown = points[number] if points else ""
            in_canvas = shown.replace(",", ".")
            if re.fullmatch(r"\d+(\.\d+)?", in_canvas) and float(in_canvas) != maximum:
                raise ExportError(
                    f"Canvas gives {shown} points for {exercise}, the exercise has {as_shown(maximum)}. "
                    f"Set the points of the assignment in Canvas to {as_shown(maximum)}, and export its "
                    "gradebook again."
                )
            return name
    notes.append(f"Canvas will make a new assignment {exercise}: the roster has none of this name.")
    return exercise
