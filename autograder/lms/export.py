"""Grades as files: nbgrader's CSV, a plain table, and what learning management systems import as it is.

The grades are those of nbgrader's own exporter: points given by hand count, late penalties are taken
off, and a student of the gradebook who has handed in nothing has 0. Each member of a group has the
grade of its submission, as `grade/groups.py` says.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from autograder.course import Course, Exercise
from autograder.errors import ExportError, writing
from autograder.grade import resubmissions
from autograder.grade.class_grades import Grade, Student, grades_of
from autograder.grade.result import Result
from autograder.lms.grade_table import GradesByStudent, Table
from autograder.lms.names import LmsName, remembered_names
from autograder.lms.systems import NAMES, SYSTEMS
from autograder.points import as_shown
from autograder.tables import write_csv

KEY_FILE = "pseudonyms.key"


# What is told, and pseudonyms --------------------------------------------------------------------


def notes_on_unread(grades: Sequence[Grade]) -> list[str]:
    """Sentences about points of written answers that are open, or were given for an earlier text."""
    notes = []
    for exercise in dict.fromkeys(grade.exercise for grade in grades):
        own = [grade for grade in grades if grade.exercise == exercise]
        if waiting := [grade for grade in own if grade.unread]:
            points = max(grade.unread for grade in waiting)
            notes.append(
                f"{exercise}: nobody has read written answers yet, for {len(waiting)} of the students. Up "
                f"to {as_shown(points)} points of each are open, not lost: give points in formgrader and export "
                "again."
            )
        if again := [grade.student.id for grade in own if grade.look_again]:
            notes.append(
                f"{exercise}: after points were given by hand, the text or the automatic points have "
                f"changed: {', '.join(again)}. Points given by hand count as they are; look at them in "
                "formgrader."
            )
        if unseen := [grade.student.id for grade in own if grade.unseen]:
            notes.append(
                f"{exercise}: there is work that the grader could not look at: {', '.join(unseen)}. Their points "
                "are not final: the remark at the top of each notebook in formgrader says what it is; give "
                "points there for what you find."
            )
    return notes


def notes_on_kept(course: Course, exercises: Sequence[Exercise]) -> list[str]:
    """Who profits by `c.Grader.keep_best`."""
    if not course.settings.keep_best:
        return []
    results = (
        Result.read(path)
        for exercise in exercises
        for path in sorted(course.autograded.glob(f"*/{exercise.name}/{exercise.name}.result.json"))
    )
    kinds = resubmissions.KEPT, resubmissions.KEPT_RULES
    return resubmissions.notes([one for one in results if resubmissions.has(one, *kinds)])


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


def without_names(grades: Sequence[Grade], course: Course) -> list[Grade]:
    """Grades under pseudonyms, in the order of these; times of submission are left out, too."""
    hidden = [
        replace(
            grade,
            student=Student(pseudonym(grade.student.id, course)),
            handed_in="",
            submitter=grade.submitter and pseudonym(grade.submitter, course),
        )
        for grade in grades
    ]
    # stable: each student's exercises stay in their order
    return sorted(hidden, key=lambda grade: grade.student.id)


# Formats --------------------------------------------------------------------------------------


def as_nbgrader(grades: Sequence[Grade]) -> Table:
    """The columns of `nbgrader export`."""
    head = [
        *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
        *("raw_score", "late_submission_penalty", "score", "max_score"),
    ]
    rows = []
    for grade in grades:
        who = grade.student
        points = grade.raw_score, grade.late_penalty, grade.score, grade.max_score
        names = who.id, who.last_name, who.first_name, who.email
        rows.append([grade.exercise, grade.due, grade.handed_in, *names, *map(as_shown, points)])
    return head, rows


def as_table(grades: Sequence[Grade]) -> Table:
    """One row per student, one column per exercise, the maximum in the first row.

    An exercise with written answers that nobody has read yet has a further column with the points that
    are open.
    """
    found = GradesByStudent(grades)
    unread = {(grade.student.id, grade.exercise): grade.unread for grade in grades}
    waiting = [e for e in found.exercises if any(g.unread for g in grades if g.exercise == e)]
    head = ["student", *found.exercises, *(f"{exercise} (open)" for exercise in waiting)]
    top = ["maximum", *found.maximum.values(), *("" for _ in waiting)]
    rows = [
        [student, *found.of(student), *(as_shown(unread[student, e]) for e in waiting)]
        for student in found.students
    ]
    return head, [top, *rows]


FORMATS = {"nbgrader": as_nbgrader, "csv": as_table}


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
        form: a name in FORMATS or SYSTEMS.
        output: the file to write.
        roster: what the system has exported, for its ids and columns.
        hide_names: under pseudonyms.

    Raises:
        GradebookError: nothing is graded.
        ExportError: the options don't fit the format, or the roster is of another course.
        TableError: the roster can't be read.
        OutputError: the file can't be written.
    """
    system = SYSTEMS.get(form)
    if hide_names and system:
        raise ExportError(f"{form} has to know whose a grade is: without names use --format csv.")
    if roster and not system:
        taking = " and ".join(f"--format {name}" for name in NAMES)
        raise ExportError(f"--roster is for {taking}.")
    grades = grades_of(course, exercises)
    notes = notes_on_unread(grades) + notes_on_kept(course, exercises)
    if hide_names:
        grades = without_names(grades, course)
    if system:
        known: dict[str, LmsName] = {}
        for exercise in exercises:
            known |= remembered_names(course, exercise)
        table = system.table_of(grades, roster, known, notes)
    else:
        table = FORMATS[form](grades)
    write_csv(output, *table)
    return notes
