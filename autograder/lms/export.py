"""Grades as files: nbgrader's CSV, a plain table, and what Canvas and Moodle import as it is.

The grades are those of nbgrader's own exporter: points given by hand count, late penalties are taken
off, and a student of the gradebook who has handed in nothing has 0. Each member of a group has the
grade of its submission, as `grade/groups.py` says.
"""

from __future__ import annotations

import collections
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from autograder.course import Course, Exercise
from autograder.errors import ExportError, writing
from autograder.grade.class_grades import Grade, Student, grades, rounded
from autograder.lms.moodle_worksheet import IDENTIFIER
from autograder.lms.names import canvas_id, numbered_id, student_id
from autograder.tables import read_table, safe, write_csv

KEY_FILE = "pseudonyms.key"
# what Canvas writes in place of a grade for a student who is excused
EXCUSED = "EX"
Table = tuple[list[str], list[list]]


# What is told, and pseudonyms --------------------------------------------------------------------


def told_unread(given: Sequence[Grade]) -> list[str]:
    """Sentences about points of written answers that are open, or were given for an earlier text."""
    told = []
    for exercise in dict.fromkeys(grade.exercise for grade in given):
        own = [grade for grade in given if grade.exercise == exercise]
        if waiting := [grade for grade in own if grade.unread]:
            points = max(grade.unread for grade in waiting)
            told.append(
                f"{exercise}: nobody has read written answers yet, for {len(waiting)} of the students. Up "
                f"to {points:g} points of each are open, not lost: give points in formgrader and export "
                "again."
            )
        if again := [grade.student.id for grade in own if grade.look_again]:
            told.append(
                f"{exercise}: after points were given by hand, the text or the automatic points have "
                f"changed: {', '.join(again)}. Points given by hand count as they are; look at them in "
                "formgrader."
            )
    return told


def pseudonym(student: str, course: Course) -> str:
    """A student's name in what is published: always the same, and no one's without the secret key.

    The key is drawn once and kept in the folder of the class.
    """
    path = course.home / KEY_FILE
    if not path.exists():
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
    key = bytes.fromhex(path.read_text())
    return f"student-{hmac.new(key, student.encode(), hashlib.sha256).hexdigest()[:12]}"


def without_names(given: Sequence[Grade], course: Course) -> list[Grade]:
    """Grades under pseudonyms, in the order of these; times of submission are left out, too."""
    hidden = [
        replace(
            grade,
            student=Student(pseudonym(grade.student.id, course)),
            handed_in="",
            submitter=grade.submitter and pseudonym(grade.submitter, course),
        )
        for grade in given
    ]
    # stable: each student's exercises stay in their order
    return sorted(hidden, key=lambda grade: grade.student.id)


# Formats --------------------------------------------------------------------------------------


class _ByStudent:
    """Grades by student and exercise."""

    def __init__(self, given: Sequence[Grade]) -> None:
        self.maximum = {grade.exercise: rounded(grade.max_score) for grade in given}
        self.exercises = list(self.maximum)
        self.students = {grade.student.id: grade.student for grade in given}
        self._scores = {(grade.student.id, grade.exercise): grade.score for grade in given}

    def of(self, student: str) -> list[float]:
        """A student's scores in the order of the exercises."""
        return [rounded(self._scores[student, exercise]) for exercise in self.exercises]


def as_nbgrader(given: Sequence[Grade]) -> Table:
    """The columns of `nbgrader export`."""
    head = [
        *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
        *("raw_score", "late_submission_penalty", "score", "max_score"),
    ]
    rows = []
    for grade in given:
        who = grade.student
        points = grade.raw_score, grade.late_penalty, grade.score, grade.max_score
        names = who.id, who.last_name, who.first_name, who.email
        rows.append([grade.exercise, grade.due, grade.handed_in, *names, *map(rounded, points)])
    return head, rows


def as_table(given: Sequence[Grade]) -> Table:
    """One row per student, one column per exercise, the maximum in the first row.

    An exercise with written answers that nobody has read yet has a further column with the points that
    are open.
    """
    found = _ByStudent(given)
    unread = {(grade.student.id, grade.exercise): grade.unread for grade in given}
    waiting = [e for e in found.exercises if any(g.unread for g in given if g.exercise == e)]
    head = ["student", *found.exercises, *(f"{exercise} (open)" for exercise in waiting)]
    top = ["maximum", *found.maximum.values(), *("" for _ in waiting)]
    rows = [
        [student, *found.of(student), *(rounded(unread[student, e]) for e in waiting)]
        for student in found.students
    ]
    return head, [top, *rows]


def match(
    students: Iterable[Student],
    rows: Sequence[list],
    names_of: Callable[[list], Iterable[str]],
    told: list[str],
    where: str = "the roster",
) -> dict[str, list]:
    """The roster's row of each student, by id; who has none, more than one, or another one's is left out.

    names_of: what a row may call its student; told: sentences for the instructor are added to it; where:
    what the rows are of, as the sentences call it.
    """
    known: dict[str, list[list]] = {}
    for row in rows:
        for name in {name.strip() for name in names_of(row)} - {""}:
            known.setdefault(name, []).append(row)
    found = {}
    for student in students:
        full = f"{student.first_name} {student.last_name}"
        by_name = student_id(full) if student.first_name and student.last_name else ""
        names = (student.lms_user_id, student.id, student.email, by_name)
        hits = next((known[name] for name in names if name in known), [])
        if len(hits) == 1:
            found[student.id] = hits[0]
        else:
            why = f"fits several students in {where}" if hits else f"is not in {where}"
            told.append(f"{student.id} {why} and was left out.")
    taken = collections.Counter(id(row) for row in found.values())
    for name in [name for name, row in found.items() if taken[id(row)] > 1]:
        del found[name]
        told.append(f"{name} fits the same student in {where} as another one and was left out.")
    if not found:
        raise ExportError(f"No student of the gradebook is in {where}: is it that of this class?")
    return found


def as_canvas(given: Sequence[Grade], roster: Path | None, told: list[str]) -> Table:
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
    found = _ByStudent(given)
    possible = [found.maximum[exercise] for exercise in found.exercises]
    if roster is None:
        told.append(
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
        titles = [_canvas_title(names, points, e, found.maximum[e], told) for e in found.exercises]
        number, *ids = [names.index(n) for n in ("ID", "SIS User ID", "SIS Login ID") if n in names]
        people = [row for row in listed if row is not points and row[number]]
        # a zip from Canvas calls students by name and number
        called = lambda row: canvas_id("".join(row[: names.index("ID")]), row[number])
        keys = lambda row: [row[number], *(row[i] for i in ids), called(row)]
        matched = match(found.students.values(), people, keys, told)
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
    names: Sequence[str], points: list | None, exercise: str, maximum: float, told: list[str]
) -> str:
    """The roster's column of an exercise, `Title (id)`; the exercise's name when it has none."""
    for number, name in enumerate(names):
        title = re.sub(r" \(\d+\)$", "", name)
        if title.strip().casefold() == exercise.casefold():
            in_canvas = points[number].replace(",", ".") if points else ""
            if re.fullmatch(r"\d+(\.\d+)?", in_canvas) and float(in_canvas) != maximum:
                raise ExportError(
                    f"Canvas gives {in_canvas} points for {exercise}, the exercise has {maximum:g}. "
                    f"Set the points of the assignment in Canvas to {maximum:g}, and export its "
                    "gradebook again."
                )
            return name
    told.append(f"Canvas will make a new assignment {exercise}: the roster has none of this name.")
    return exercise


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
    found = _ByStudent(given)
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


def write(
    course: Course,
    exercises: Sequence[Exercise],
    form: str,
    output: Path,
    roster: Path | None = None,
    hide_names: bool = False,
) -> list[str]:
    """Write the grades of a class in one format; returns what the instructor should be told.

    Args:
        course: whose gradebook is read.
        exercises: the columns, in this order.
        form: "nbgrader", "csv", "canvas" or "moodle".
        output: the file to write.
        roster: what Canvas or Moodle has exported, for its ids and columns.
        hide_names: under pseudonyms.

    Raises:
        GradebookError: nothing is graded.
        ExportError: the options don't fit the format, or the roster is of another course.
        TableError: the roster can't be read.
        OutputError: the file can't be written.
    """
    to_lms = form in ("canvas", "moodle")
    if hide_names and to_lms:
        raise ExportError(f"{form} has to know whose a grade is: without names use --format csv.")
    if roster and not to_lms:
        raise ExportError("--roster is for --format canvas and --format moodle.")
    given = grades(course, exercises)
    told = told_unread(given)
    if hide_names:
        given = without_names(given, course)
    if form == "canvas":
        table = as_canvas(given, roster, told)
    elif form == "moodle":
        table = as_moodle(given, roster, told)
    else:
        table = as_nbgrader(given) if form == "nbgrader" else as_table(given)
    write_csv(output, *table)
    return told
