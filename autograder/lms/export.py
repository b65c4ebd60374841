"""Grades as files: nbgrader's CSV, a plain table, and what Canvas and Moodle import as it is.

All of them say what nbgrader's own exporter says: points given by hand count, late penalties are
taken off, and a student of the gradebook who has handed in nothing has 0.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import os
import re
import secrets
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

from nbgrader.api import Assignment, Gradebook, SubmittedAssignment
from nbgrader.plugins import CsvExportPlugin

from autograder.errors import ExportError, GradebookError, writing
from autograder.grade.gradebook import explained, is_missing
from autograder.lms.import_zip import canvas_id, student_id

KEY_FILE = "pseudonyms.key"
Table = tuple[list[str], list[list]]


def safe(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula: an apostrophe before what begins like one.

    The beginnings are those of OWASP's page on CSV injection, full-width forms included, and looked
    for behind white space, too. Numbers stay numbers.
    """
    if not isinstance(cell, str):
        return cell
    first = unicodedata.normalize("NFKC", cell.strip()[:1])
    return f"'{cell}" if cell[:1] in ("\t", "\r", "\n") or first in ("=", "+", "-", "@") else cell


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file: cells quoted where needed, none of them a formula."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([safe(cell) for cell in row] for row in [head, *rows])


# From the gradebook ---------------------------------------------------------------------------


class _Field(str):
    """Text that is formatted as a field of a CSV file: nbgrader's exporter quotes nothing."""

    def __format__(self, spec: str) -> str:
        return '"' + self.replace('"', '""') + '"'


class _QuotedGradebook:
    """A gradebook as nbgrader's exporter reads it, with students whose names may hold commas."""

    def __init__(self, gradebook: Gradebook) -> None:
        self._gradebook = gradebook
        names = ("id", "last_name", "first_name", "email")
        self.students = [
            SimpleNamespace(**{name: _Field(getattr(student, name) or "") for name in names})
            for student in gradebook.students
        ]

    @property
    def assignments(self) -> list[Assignment]:
        return self._gradebook.assignments

    def find_submission(self, assignment: str, student: str) -> SubmittedAssignment:
        return self._gradebook.find_submission(assignment, str(student))


def grades(db_url: str, exercises: Sequence[str]) -> list[dict]:
    """The rows of nbgrader's export, scores as numbers, with each student's `lms_user_id` added.

    db_url: address of the gradebook's database.

    Raises GradebookError when nothing has been graded.
    """
    if is_missing(db_url):
        raise GradebookError(f"There is no {db_url}: run `python -m autograder grade` first.")
    with explained(db_url), Gradebook(db_url) as gradebook, tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "grades.csv"
        exporter = CsvExportPlugin(to=str(written), assignment=list(exercises))
        exporter.export(_QuotedGradebook(gradebook))
        numbers = {student.id: student.lms_user_id or "" for student in gradebook.students}
        # nbgrader writes in the locale's encoding
        with written.open(newline="") as file:
            rows = list(csv.DictReader(file))
    if not rows:
        raise GradebookError(
            "The gradebook holds no grades of this: run `python -m autograder grade`."
        )
    for row in rows:
        row["lms_user_id"] = numbers[row["student_id"]]
        for name in ("raw_score", "late_submission_penalty", "score", "max_score"):
            value = float(row[name])
            row[name] = int(value) if value.is_integer() else value
    return sorted(rows, key=lambda row: (row["student_id"], row["assignment"]))


def pseudonym(student: str, course: Path) -> str:
    """A student's name in what is published: always the same, and no one's without the secret key.

    The key is drawn once and kept beside the gradebook.
    """
    path = course / KEY_FILE
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
    key = bytes.fromhex(path.read_text())
    return f"student-{hmac.new(key, student.encode(), hashlib.sha256).hexdigest()[:12]}"


def without_names(rows: Sequence[dict], course: Path) -> list[dict]:
    """Grades under pseudonyms, in the order of these; times of submission are left out, too."""
    hidden = dict.fromkeys(("last_name", "first_name", "email", "timestamp", "lms_user_id"), "")
    found = [{**row, **hidden, "student_id": pseudonym(row["student_id"], course)} for row in rows]
    return sorted(found, key=lambda row: (row["student_id"], row["assignment"]))


# Formats --------------------------------------------------------------------------------------


class _Grades:
    """Rows of grades by student and exercise."""

    def __init__(self, rows: Sequence[dict]) -> None:
        self.exercises = sorted({row["assignment"] for row in rows})
        self.maximum = {row["assignment"]: row["max_score"] for row in rows}
        self.students = {row["student_id"]: row for row in rows}
        self._scores = {(row["student_id"], row["assignment"]): row["score"] for row in rows}

    def of(self, student: str) -> list:
        """A student's scores in the order of the exercises."""
        return [self._scores[student, exercise] for exercise in self.exercises]


def as_nbgrader(rows: Sequence[dict]) -> Table:
    """The columns of `nbgrader export`."""
    head = [name for name in rows[0] if name != "lms_user_id"]
    return head, [[row[name] for name in head] for row in rows]


def as_table(rows: Sequence[dict]) -> Table:
    """One row per student, one column per exercise, the maximum in the first row."""
    given = _Grades(rows)
    head = ["student", *given.exercises]
    top = ["maximum", *(given.maximum[exercise] for exercise in given.exercises)]
    return head, [top, *([student, *given.of(student)] for student in given.students)]


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
    given: _Grades, rows: Sequence[list], names_of: Callable[[list], Iterable[str]], told: list[str]
) -> dict[str, list]:
    """The roster's row of each student; who has none, or more than one, is told and left out."""
    known: dict[str, list[list]] = {}
    for row in rows:
        for name in {name.strip() for name in names_of(row)} - {""}:
            known.setdefault(name, []).append(row)
    found = {}
    for student, own in given.students.items():
        names = (own["lms_user_id"], student, own["email"])
        hits = next((known[name] for name in names if name in known), [])
        if len(hits) == 1:
            found[student] = hits[0]
        else:
            why = "is not in the roster" if not hits else "fits several rows of the roster"
            told.append(f"{student} {why} and was left out.")
    if not found:
        raise ExportError("No student of the gradebook is in the roster: is it of this course?")
    return found


def as_canvas(rows: Sequence[dict], roster: Path | None, told: list[str]) -> Table:
    """A file that *Import* in Canvas's gradebook takes.

    Canvas wants the columns Student, ID, SIS Login ID (SIS User ID before it if there is one) and
    Section, in this order, then assignments as `Title (id)`, and a row whose first cell contains
    Points Possible. It finds a student by ID, then SIS User ID, SIS Login ID, name; and an
    assignment by the id in parentheses, then by title; another title makes a new assignment. An
    empty cell would take a grade away, and other columns would be imported, too, so neither is
    written. Read from canvas-lms, lib/gradebook_importer.rb and lib/gradebook_exporter.rb.
    """
    given = _Grades(rows)
    possible = [given.maximum[exercise] for exercise in given.exercises]
    if roster is None:
        told.append(
            "Without --roster, Canvas finds students by login only, and makes new assignments unless "
            "they are called as the exercises are."
        )
        head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
        own = {
            student: [_full_name(row), row["lms_user_id"], "", student, ""]
            for student, row in given.students.items()
        }
        titles = given.exercises
    else:
        names, listed = read_roster(roster)
        if "ID" not in names or "Section" not in names or "Student" not in names[0] + names[1]:
            raise ExportError(
                f"{roster} is not a gradebook that Canvas has exported: it needs the columns Student, ID "
                "and Section. In Canvas choose Grades, Export, Export Entire Gradebook."
            )
        head = names[: names.index("Section") + 1]
        points = next((row for row in listed if "Points Possible" in row[0]), None)
        titles = [_canvas_title(names, points, e, given.maximum[e], told) for e in given.exercises]
        number, *ids = [names.index(n) for n in ("ID", "SIS User ID", "SIS Login ID") if n in names]
        people = [row for row in listed if row is not points and row[number]]
        # a zip from Canvas calls students by name and number
        called = lambda row: canvas_id("".join(row[: names.index("ID")]), row[number])
        keys = lambda row: [row[number], *(row[i] for i in ids), called(row)]
        matched = _match(given, people, keys, told)
        own = {student: row[: len(head)] for student, row in matched.items()}
    top = ["    Points Possible", *[""] * (len(head) - 1), *possible]
    return [*head, *titles], [top, *([*row, *given.of(s)] for s, row in own.items())]


def _full_name(row: dict) -> str:
    return ", ".join(filter(None, [row["last_name"], row["first_name"]])) or row["student_id"]


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


def as_moodle(rows: Sequence[dict], roster: Path | None, told: list[str]) -> Table:
    """A file that *Grades, Import, CSV file* in Moodle takes.

    Moodle lets one choose the column that tells whose a row is (`Map from`) and what is in it (`Map
    to`: user name, ID number or e-mail address, upper and lower case not being the same), and which
    column goes into which grade item. One row whose student isn't found ends the whole import, and
    a row with an empty identifier is given to the student of the row before, so only columns that
    tell everybody are written. Read from docs.moodle.org, Grade import, and from moodle,
    grade/import/csv/classes/load_data.php.
    """
    given = _Grades(rows)
    if roster is None:
        kinds = ["Username", "Email address"]
        own = {student: [student, row["email"]] for student, row in given.students.items()}
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
        matched = _match(given, listed, keys, told)
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
    head = [*(kinds[i] for i in full), *given.exercises]
    return head, [[*(cells[i] for i in full), *given.of(s)] for s, cells in own.items()]


FORMATS = ("nbgrader", "csv", "canvas", "moodle")


def write(
    course: Path,
    db_url: str,
    exercises: Sequence[str],
    form: str,
    output: Path,
    roster: Path | None = None,
    hide_names: bool = False,
) -> list[str]:
    """Write the grades of a course in one of FORMATS; returns what is to be told about it.

    course: folder of the key of pseudonyms; db_url: address of the gradebook's database. Raises GradebookError when nothing is graded,
    ExportError when the roster can't be used.
    """
    rows, told = grades(db_url, exercises), []
    to_lms = form in ("canvas", "moodle")
    if hide_names and to_lms:
        raise ExportError(f"{form} has to know whose a grade is: without names use --format csv.")
    if roster and not to_lms:
        raise ExportError("--roster is for --format canvas and --format moodle.")
    if hide_names:
        rows = without_names(rows, course)
    if form == "canvas":
        table = as_canvas(rows, roster, told)
    elif form == "moodle":
        table = as_moodle(rows, roster, told)
    else:
        table = as_nbgrader(rows) if form == "nbgrader" else as_table(rows)
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        write_csv(output, *table)
    return told
