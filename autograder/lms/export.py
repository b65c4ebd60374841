"""Grades as files: nbgrader's CSV, a plain table, and what Canvas and Moodle import as it is.

The grades are those of nbgrader's own exporter: points given by hand count, late penalties are taken
off, and a student of the gradebook who has handed in nothing has 0.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import os
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.api import MissingEntry, SubmittedAssignment

from autograder.course import Course, Exercise
from autograder.errors import ExportError, GradebookError, writing
from autograder.lms.import_zip import canvas_id, student_id
from autograder.lms.read_gradebook import opened
from autograder.tables import safe, write_csv

KEY_FILE = "pseudonyms.key"
Table = tuple[list[str], list[list]]


@dataclass(frozen=True)
class Student:
    """A student as the gradebook knows them; what it doesn't know is empty.

    lms_user_id: the user's number in the learning management system.
    """

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""

    @property
    def full_name(self) -> str:
        """Last name and first name, or the id of a student without a name."""
        return ", ".join(filter(None, [self.last_name, self.first_name])) or self.id


@dataclass(frozen=True)
class Grade:
    """A student's grade for one exercise, in points.

    raw_score: before the penalty; due, handed_in: in UTC, as nbgrader writes times, or empty; unread:
    points of written answers that nobody has read yet, which are in max_score and not in the score.
    """

    exercise: str
    student: Student
    raw_score: float
    late_penalty: float
    max_score: float
    due: str = ""
    handed_in: str = ""
    unread: float = 0.0

    @property
    def score(self) -> float:
        """What counts: never less than 0."""
        return max(0.0, self.raw_score - self.late_penalty)


# From the gradebook ---------------------------------------------------------------------------


def grades(course: Course, exercises: Sequence[Exercise]) -> list[Grade]:
    """The grades of all students of the gradebook, by student and then in the order of exercises.

    Raises GradebookError when nothing has been graded.
    """
    order = [exercise.name for exercise in exercises]
    found = []
    with opened(course) as gradebook:
        if gradebook is None:
            raise GradebookError(
                f"There is no {course.db_url}: run `python -m autograder grade` first."
            )
        students = [
            Student(
                student.id,
                student.first_name or "",
                student.last_name or "",
                student.email or "",
                student.lms_user_id or "",
            )
            for student in gradebook.students
        ]
        for assignment in gradebook.assignments:
            if assignment.name not in order:
                continue
            max_score, due = assignment.max_score, str(assignment.duedate or "")
            for student in students:
                try:
                    submission = gradebook.find_submission(assignment.name, student.id)
                    earned, penalty = submission.score, submission.late_submission_penalty
                    handed_in = str(submission.timestamp or "")
                    unread = unread_points(submission)
                except MissingEntry:
                    earned, penalty, handed_in, unread = 0.0, 0.0, "", 0.0
                found.append(
                    Grade(
                        assignment.name,
                        student,
                        earned,
                        penalty,
                        max_score,
                        due,
                        handed_in,
                        unread,
                    )
                )
    if not found:
        raise GradebookError(
            "The gradebook holds no grades of this: run `python -m autograder grade`."
        )
    return sorted(found, key=lambda grade: (grade.student.id, order.index(grade.exercise)))


def unread_points(submission: SubmittedAssignment) -> float:
    """Points of written answers in a submission that nobody has read yet."""
    return sum(
        grade.max_score
        for notebook in submission.notebooks
        for grade in notebook.grades
        if grade.auto_score is None and grade.manual_score is None
    )


def _told_unread(given: Sequence[Grade]) -> list[str]:
    """A sentence for every exercise whose grades lack points of answers that nobody has read."""
    told = []
    for exercise in dict.fromkeys(grade.exercise for grade in given):
        waiting = [g for g in given if g.exercise == exercise and g.unread]
        if waiting:
            points = max(grade.unread for grade in waiting)
            told.append(
                f"{exercise}: nobody has read written answers yet, for {len(waiting)} of the students. Up "
                f"to {points:g} points of each are open, not lost: give points in formgrader and export "
                "again."
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
        replace(grade, student=Student(pseudonym(grade.student.id, course)), handed_in="")
        for grade in given
    ]
    # stable: each student's exercises stay in their order
    return sorted(hidden, key=lambda grade: grade.student.id)


# Formats --------------------------------------------------------------------------------------


class _ByStudent:
    """Grades by student and exercise."""

    def __init__(self, given: Sequence[Grade]) -> None:
        self.maximum = {grade.exercise: _number(grade.max_score) for grade in given}
        self.exercises = list(self.maximum)
        self.students = {grade.student.id: grade.student for grade in given}
        self._scores = {(grade.student.id, grade.exercise): grade.score for grade in given}

    def of(self, student: str) -> list[float]:
        """A student's scores in the order of the exercises."""
        return [_number(self._scores[student, exercise]) for exercise in self.exercises]


def _number(value: float) -> float:
    """The same number, as an integer if it is one: 32, not 32.0."""
    return int(value) if float(value).is_integer() else value


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
        rows.append([grade.exercise, grade.due, grade.handed_in, *names, *map(_number, points)])
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
        [student, *found.of(student), *(_number(unread[student, e]) for e in waiting)]
        for student in found.students
    ]
    return head, [top, *rows]


def read_roster(path: Path) -> Table:
    """Head and rows of a CSV file that Canvas or Moodle has exported, with commas or semicolons.

    Raises ExportError when it can't be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        first = text.partition("\n")[0]
        mark = ";" if first.count(";") > first.count(",") else ","
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ExportError(f"{path} can't be read as a CSV file in UTF-8: {error}.") from error
    if not rows:
        raise ExportError(f"{path} is empty.")
    head = [name.strip() for name in rows[0]]
    return head, [row + [""] * (len(head) - len(row)) for row in rows[1:]]


def _match(
    students: Iterable[Student],
    rows: Sequence[list],
    names_of: Callable[[list], Iterable[str]],
    told: list[str],
) -> dict[str, list]:
    """The roster's row of each student, by id; who has none, or more than one, is left out.

    names_of: what a row may call its student; told: sentences for the instructor are added to it.
    """
    known: dict[str, list[list]] = {}
    for row in rows:
        for name in {name.strip() for name in names_of(row)} - {""}:
            known.setdefault(name, []).append(row)
    found = {}
    for student in students:
        names = (student.lms_user_id, student.id, student.email)
        hits = next((known[name] for name in names if name in known), [])
        if len(hits) == 1:
            found[student.id] = hits[0]
        else:
            why = "is not in the roster" if not hits else "fits several rows of the roster"
            told.append(f"{student.id} {why} and was left out.")
    if not found:
        raise ExportError("No student of the gradebook is in the roster: is it of this course?")
    return found


def as_canvas(given: Sequence[Grade], roster: Path | None, told: list[str]) -> Table:
    """A file that *Import* in Canvas's gradebook takes.

    Canvas wants the columns Student, ID, SIS Login ID (SIS User ID before it if there is one) and
    Section, in this order, then assignments as `Title (id)`, and a row whose first cell contains
    Points Possible. It finds a student by ID, then SIS User ID, SIS Login ID, name; and an
    assignment by the id in parentheses, then by title; another title makes a new assignment. An
    empty cell would take a grade away, and other columns would be imported, too, so neither is
    written. Read from canvas-lms, lib/gradebook_importer.rb and lib/gradebook_exporter.rb.
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
    else:
        names, listed = read_roster(roster)
        if "ID" not in names or "Section" not in names or "Student" not in names[0] + names[1]:
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
        matched = _match(found.students.values(), people, keys, told)
        own = {student: row[: len(head)] for student, row in matched.items()}
    top = ["    Points Possible", *[""] * (len(head) - 1), *possible]
    return [*head, *titles], [top, *([*row, *found.of(s)] for s, row in own.items())]


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
                    f"Canvas gives {points[number]} points for {exercise}, the exercise has {maximum:g}. "
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
    tell everybody are written. Read from docs.moodle.org, Grade import, and from moodle,
    grade/import/csv/classes/load_data.php.
    """
    found = _ByStudent(given)
    if roster is None:
        kinds = ["Username", "Email address"]
        own = {student.id: [student.id, student.email] for student in found.students.values()}
    else:
        names, listed = read_roster(roster)
        kinds = [n for n in names if n.casefold() in ("username", "id number", "email address")]
        if not kinds:
            raise ExportError(
                f"{roster} has no column Username, ID number or Email address. In Moodle, in English, "
                "choose Grades, Export, Plain text file."
            )
        columns = [names.index(kind) for kind in kinds]
        # a zip from Moodle calls students by their full names
        first = [names.index(n) for n in names if n in ("First name", "Last name", "Surname")]
        called = lambda row: [
            student_id(" ".join(row[i] for i in order)) for order in (first, first[::-1])
        ]
        keys = lambda row: [*(row[i] for i in columns), *called(row)]
        matched = _match(found.students.values(), listed, keys, told)
        own = {student: [row[i] for i in columns] for student, row in matched.items()}
    for student, cells in list(own.items()):
        if any(safe(cell) != cell for cell in cells):
            told.append(f"{student} was left out: {cells} would be a formula. Enter it by hand.")
            del own[student]
    full = [i for i in range(len(kinds)) if all(cells[i].strip() for cells in own.values())]
    if not full or not own:
        raise ExportError(
            "Moodle needs a user name, ID number or e-mail address of every student: complete the "
            "roster in Moodle, or those of `nbgrader db student list`."
        )
    head = [*(kinds[i] for i in full), *found.exercises]
    return head, [[*(cells[i] for i in full), *found.of(s)] for s, cells in own.items()]


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
        ExportError: the options don't fit the format, or the roster can't be used.
        OutputError: the file can't be written.
    """
    to_lms = form in ("canvas", "moodle")
    if hide_names and to_lms:
        raise ExportError(f"{form} has to know whose a grade is: without names use --format csv.")
    if roster and not to_lms:
        raise ExportError("--roster is for --format canvas and --format moodle.")
    given = grades(course, exercises)
    told = _told_unread(given)
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
