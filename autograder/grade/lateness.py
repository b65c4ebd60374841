"""Due dates, extensions and late penalties, in the gradebook's own columns.

nbgrader keeps a due date for each assignment, and an extension and a time of submission for each
student's submission. An extension given before the student hands in is a submission without a notebook,
which `Recorder` completes when it is graded. A penalty depends on these and on the score alone, so it
is brought up to date without grading.
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder import nbgrader_adapter
from autograder.course import Course, Exercise
from autograder.errors import DateError, GradebookError, writing
from autograder.grade import resubmissions
from autograder.nbgrader_adapter import gradebook_exists, transaction
from autograder.tables import read_csv

if TYPE_CHECKING:
    from nbgrader.api import Gradebook, SubmittedAssignment, SubmittedNotebook

UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes"}
DURATION = re.compile(r"(?:\d+(?:\.\d+)?[wdhm])+")
PART = re.compile(r"(\d+(?:\.\d+)?)([wdhm])")
MINUTE = datetime.timedelta(minutes=1)
LONGEST = datetime.timedelta(days=3650)
COLUMNS = ("student", "exercise", "extension")


@dataclass(frozen=True)
class Extension:
    """How much later than others a student may hand in an exercise; 0 takes an extension back."""

    student: str
    exercise: str
    time: datetime.timedelta


@dataclass(frozen=True)
class Dates:
    """The due date of an exercise, in UTC without a zone, and the extensions, by student."""

    exercise: str
    due: datetime.datetime | None
    extensions: Mapping[str, datetime.timedelta]


@dataclass(frozen=True)
class Late:
    """A late submission: by how much, what it loses, and what it lost before this was computed."""

    student: str
    exercise: str
    by: datetime.timedelta
    penalty: float
    before: float


# Lengths of time, and times in words -------------------------------------------------------------------------------


def read_duration(text: str) -> datetime.timedelta:
    """A length of time, like 2d, 36h or 1w3d; 0 is none. Raises DateError."""
    if text in ("0", "0d"):
        return datetime.timedelta()
    if not DURATION.fullmatch(text):
        raise DateError(
            f"{text!r} is not a length of time. Write it like 2d, 36h, 1w or 1d12h (weeks, days, hours, "
            "minutes); 0 takes an extension back."
        )
    days = [float(n) * datetime.timedelta(**{UNITS[u]: 1}) for n, u in PART.findall(text[:100])]
    total = sum(days, datetime.timedelta())
    if total > LONGEST:
        raise DateError(f"{text!r} is more than ten years: is it a slip?")
    return total


def in_words(moment: datetime.datetime) -> str:
    """A time as students read it: `Monday, 1 March 2027, 18:00 UTC`."""
    return f"{moment:%A}, {moment.day} {moment:%B %Y, %H:%M} UTC"


def duration_in_words(time: datetime.timedelta) -> str:
    """A length of time in days, hours and minutes, like `1 d 12 h`; less than a minute in seconds."""
    minutes, seconds = divmod(round(time.total_seconds()), 60)
    parts = {"d": minutes // 1440, "h": minutes // 60 % 24, "min": minutes % 60}
    return " ".join(f"{n} {unit}" for unit, n in parts.items() if n) or f"{seconds} s"


def now() -> datetime.datetime:
    """The present time in UTC without a zone, as nbgrader stores times."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


# Due dates and extensions ---------------------------------------------------------------------


def set_due_date(course: Course, exercise: Exercise, due: datetime.datetime | None) -> list[str]:
    """Record an exercise's due date, or take it away; returns the students who lost an extension by that.

    The exercise is added to the gradebook if it isn't in it.
    """
    _make_folder(course)
    with transaction(course.db_url) as gradebook:
        # through the column itself: update_or_create_assignment can't take a date away
        assignment = gradebook.update_or_create_assignment(exercise.name)
        assignment.duedate = due
        lost = [] if due else [s for s in assignment.submissions if s.extension]
        names = sorted(submission.student_id for submission in lost)
        for submission in lost:
            submission.extension = None
            _remove_if_empty(gradebook, submission)
        gradebook.db.commit()
    return names


def read_extensions(path: Path) -> list[Extension]:
    """Extensions from a CSV file with the columns student, exercise and extension.

    Raises DateError, naming the line, for what is no extension and for a student who has two.
    """
    found: dict[tuple[str, str], Extension] = {}
    for number, row in read_csv(path, COLUMNS):
        try:
            time = read_duration(row["extension"])
        except DateError as error:
            raise DateError(f"{path}, line {number}: {error}") from error
        extension = Extension(row["student"], row["exercise"], time)
        key = extension.student, extension.exercise
        if key in found:
            raise DateError(
                f"{path}, line {number}: {extension.student} has an extension of {extension.exercise} in a "
                "line above. Keep one of the two; nothing was written."
            )
        found[key] = extension
    return list(found.values())


def extend(course: Course, extensions: Sequence[Extension]) -> None:
    """Record extensions, all of them or none; a new one takes the place of the one before.

    Raises GradebookError for a student whom the gradebook doesn't know, DateError for an exercise
    without a due date.
    """
    if not gradebook_exists(course.db_url):
        raise GradebookError(
            f"There is no {course.db_url}: import the roster with `python -m autograder roster` first."
        )
    with transaction(course.db_url) as gradebook:
        known = [student.id for student in gradebook.students]
        for extension in extensions:
            refuse_unknown_student(extension.student, known)
            _extend(gradebook, course.exercise(extension.exercise), extension)


def refuse_unknown_student(student: str, known: Sequence[str]) -> None:
    """Raise GradebookError, with ids that look alike, when a student is not among those known."""
    if student in known:
        return
    alike = difflib.get_close_matches(student, known, cutoff=0.5)
    meant = f" Did you mean {' or '.join(alike)}?" if alike else ""
    raise GradebookError(
        f"The gradebook knows no student {student!r}.{meant} Add a student with `nbgrader db student add`. "
        "Nothing was written."
    )


def _extend(gradebook: Gradebook, exercise: Exercise, extension: Extension) -> None:
    from nbgrader.api import MissingEntry, SubmittedAssignment

    try:
        assignment = gradebook.find_assignment(exercise.name)
    except MissingEntry:
        assignment = None
    if assignment is None or assignment.duedate is None:
        raise DateError(
            f"{exercise} has no due date that could be extended: set it with `python -m autograder due "
            f"{exercise} TIME` first. Nothing was written."
        )
    time = extension.time or None
    try:
        submission = gradebook.find_submission(exercise.name, extension.student)
    except MissingEntry:
        if time is None:
            return
        student = gradebook.find_student(extension.student)
        # without notebooks: formgrader lists what has been handed in, and this has not
        submission = SubmittedAssignment(assignment=assignment, student=student)
        gradebook.db.add(submission)
    submission.extension = time
    if time is None:
        _remove_if_empty(gradebook, submission)
    gradebook.db.commit()


def _remove_if_empty(gradebook: Gradebook, submission: SubmittedAssignment) -> None:
    if not submission.notebooks:
        gradebook.db.delete(submission)


def _make_folder(course: Course) -> None:
    """Make the folder of the gradebook's file, which nbgrader does not make."""
    with writing(course.home):
        course.home.mkdir(parents=True, exist_ok=True)


def dates(course: Course, exercises: Sequence[Exercise]) -> list[Dates]:
    """Due dates and extensions, for each of some exercises."""
    found = {}
    if gradebook_exists(course.db_url):
        with transaction(course.db_url) as gradebook:
            for assignment in gradebook.assignments:
                extensions = {
                    submission.student_id: submission.extension
                    for submission in assignment.submissions
                    if submission.extension
                }
                found[assignment.name] = assignment.duedate, dict(sorted(extensions.items()))
    return [Dates(e.name, *found.get(e.name, (None, {}))) for e in exercises]


def already_over(recorded: Sequence[Dates], extensions: Sequence[Extension]) -> list[str]:
    """A sentence for each of some recorded extensions that has ended before now."""
    due = {own.exercise: own.due for own in recorded}
    return [
        f"{one.student}, {one.exercise}: the extended due date, {in_words(end)}, is in the past."
        for one in extensions
        if one.time and (own := due[one.exercise]) is not None and (end := own + one.time) < now()
    ]


# Penalties ------------------------------------------------------------------------------------


def lateness(submission: SubmittedAssignment) -> datetime.timedelta:
    """By how much a submission is late; 0 without a due date or a time of submission.

    A due date is shown in minutes, and lasts to the end of its minute. nbgrader's own `total_seconds_late` fails
    for an extension of an exercise without a due date.
    """
    due, handed_in = submission.assignment.duedate, submission.timestamp
    if due is None or handed_in is None:
        return datetime.timedelta()
    due += submission.extension or datetime.timedelta()
    in_time = handed_in < due.replace(second=0, microsecond=0) + MINUTE
    return datetime.timedelta() if in_time else handed_in - due


def penalty(
    course: Course, submission: SubmittedAssignment, notebook: SubmittedNotebook
) -> float | None:
    """What the configured plugin takes off a submission's notebook; None for one that is in time."""
    late = lateness(submission)
    if not late:
        return None
    return nbgrader_adapter.late_penalty(
        course.config, submission.student_id, notebook.score, late.total_seconds()
    )


def update_penalties(course: Course, exercises: Sequence[Exercise]) -> list[Late]:
    """Bring times of submission and penalties up to date in the gradebook; returns who is late.

    They depend on timestamp.txt, the due date, extensions, the score (points given by hand included)
    and the plugin. Nobody is graded again.
    """
    found: list[Late] = []
    if not gradebook_exists(course.db_url):
        return found
    names = {exercise.name for exercise in exercises}
    with transaction(course.db_url) as gradebook:
        for assignment in gradebook.assignments:
            if assignment.name not in names:
                continue
            # both at once: one query each, not one for every student
            submissions = list(assignment.submissions)
            notebooks = gradebook.notebook_submissions(assignment.name, assignment.name)
            whose = {notebook.assignment_id: notebook for notebook in notebooks}
            for submission in submissions:
                if submission.id in whose:
                    found += _updated(course, submission, whose[submission.id])
        gradebook.db.commit()
    return sorted(found, key=lambda late: (late.exercise, late.student))


def unreadable_times(course: Course, exercises: Sequence[Exercise]) -> list[str]:
    """A sentence for each timestamp.txt that can't be read, so that nobody is late by it."""
    notes = []
    for exercise in exercises:
        for path in sorted(course.submitted.glob(f"*/{exercise.name}/timestamp.txt")):
            try:
                nbgrader_adapter.timestamp(path.parent)
            except ValueError as error:
                notes.append(
                    f"{path}: the time of submission can't be read, and nobody is late by it. {error}"
                )
    return notes


def _updated(
    course: Course, submission: SubmittedAssignment, notebook: SubmittedNotebook
) -> list[Late]:
    student, exercise = submission.student_id, submission.assignment.name
    try:
        handed_in = nbgrader_adapter.timestamp(course.submitted / student / exercise)
    except ValueError:
        # a remark in the result says so
        handed_in = None
    # where there is no such file, the time that was recorded before stays, and so does that of an earlier
    # submission whose grade counts
    graded = course.autograded / student / exercise / f"{exercise}.ipynb"
    if handed_in and handed_in != submission.timestamp and not resubmissions.is_kept(graded):
        submission.timestamp = handed_in
    before, after = notebook.late_submission_penalty, penalty(course, submission, notebook)
    if before != after:
        notebook.late_submission_penalty = after
    late = lateness(submission)
    return [Late(student, exercise, late, after or 0.0, before or 0.0)] if late else []
