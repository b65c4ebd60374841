"""Grades and comments into Canvas: what would change is shown first, and nothing is sent twice.

Canvas itself says what is there already, so only what differs is sent, and a run that was interrupted is
continued by running it again. A comment ends with a mark made of its text, by which it is found in Canvas.
When a request is not answered, Canvas is asked whether it was carried out before anything is sent again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from autograder.course import Exercise
from autograder.errors import LmsError
from autograder.grade.class_grades import Grade
from autograder.lms.canvas_api import Canvas, UnansweredError
from autograder.lms.grade_table import match
from autograder.lms.names import canvas_id
from autograder.points import as_shown, with_decimals
from autograder.progress import plain_cell, progress

MAX_COMMENT = 10_000
# requests in a row that nobody answers, after which nobody will
MAX_UNANSWERED = 3


@dataclass(frozen=True)
class Change:
    """What is sent for one student.

    user: the number in Canvas; before: the points there, None if there are none; points: those to send,
    None to leave them; comment: the text to add, empty for none.
    """

    student: str
    user: int
    before: float | None
    points: float | None
    comment: str


@dataclass(frozen=True)
class Plan:
    """What a run would send. assignment: its number; same: how many have it all; notes: sentences."""

    assignment: int
    title: str
    changes: tuple[Change, ...]
    same: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PushResult:
    """What a run has sent: students whose change is in Canvas, and those of whom that isn't known."""

    done: tuple[str, ...]
    unconfirmed: tuple[str, ...]
    notes: tuple[str, ...]


def marked(comment: str) -> str:
    """A comment with the mark by which it is found again."""
    text = comment.strip()
    if len(text) > MAX_COMMENT:
        text = f"{text[:MAX_COMMENT].rstrip()} ..."
    return f"{text}\n\n{_mark(text)}"


def _mark(text: str) -> str:
    return f"[feedback {hashlib.sha256(text.encode()).hexdigest()[:12]}]"


def _has_comment(submission: Mapping[str, Any], comment: str) -> bool:
    mark = comment.rpartition("\n")[2]
    comments = submission.get("submission_comments") or ()
    return any(mark in (own.get("comment") or "") for own in comments)


def _points(submission: Mapping[str, Any]) -> float | None:
    """The points in Canvas, before what Canvas itself takes off late work."""
    score = submission.get("entered_score", submission.get("score"))
    return None if score is None else as_shown(score)


def find_assignment(
    canvas: Canvas, exercise: Exercise, number: int | None, maximum: float
) -> dict[str, Any]:
    """The assignment with a number or, without one, with the exercise's name. Raises LmsError."""
    if number is not None:
        found = canvas.get(f"assignments/{number}")
    else:
        every = canvas.get_all("assignments", search_term=exercise.name)
        named = [a for a in every if a["name"].strip().casefold() == exercise.name.casefold()]
        if len(named) != 1:
            numbers = f" ({', '.join(str(a['id']) for a in named)})" if named else ""
            raise LmsError(
                f"Canvas has {len(named)} assignments called {exercise}{numbers}. Make one of {as_shown(maximum)} "
                "points, or give the number in the assignment's address with --assignment."
            )
        (found,) = named
    title = found["name"]
    if found.get("points_possible") != maximum:
        raise LmsError(
            f"Canvas gives {found.get('points_possible')} points for {title}, the exercise has {as_shown(maximum)}. "
            f"Set the points of the assignment in Canvas to {as_shown(maximum)}."
        )
    if found.get("grading_type", "points") not in ("points", "percent"):
        raise LmsError(
            f"{title} is graded as {found['grading_type']} in Canvas. Let it display the grade as points."
        )
    if found.get("anonymize_students"):
        raise LmsError(f"{title} is graded anonymously: Canvas does not say whose is whose.")
    return found


def plan(
    canvas: Canvas,
    exercise: Exercise,
    grades: Sequence[Grade],
    comments: Mapping[str, str],
    number: int | None = None,
) -> Plan:
    """What would have to be sent so that Canvas has the grades and comments; nothing is.

    Args:
        canvas: the course.
        exercise: whose assignment is looked for.
        grades: grades of this exercise.
        comments: texts by student; who has none gets none.
        number: the assignment's, if it doesn't have the exercise's name.

    Raises:
        LmsError: Canvas refuses, or the assignment doesn't fit.
        ExportError: no student is known in Canvas.
    """
    notes: list[str] = []
    assignment = find_assignment(canvas, exercise, number, grades[0].max_score)
    title = assignment["name"]
    if assignment.get("post_manually"):
        notes.append(f"{title}: students see their grades when you post them in Canvas.")
    individually = assignment.get("grade_group_students_individually")
    if assignment.get("group_category_id") and not individually:
        notes.append(
            f"{title} is graded by group in Canvas: all members get what is sent for any of them. If a member "
            "has a grade of their own, let Canvas assign grades to each student individually."
        )
    handed_in = {grade.student.id: grade for grade in grades if grade.submitter}
    if missing := sorted(grade.student.id for grade in grades if not grade.submitter):
        notes.append(f"Nothing handed in, and nothing sent: {', '.join(missing)}.")
    if not handed_in:
        return Plan(assignment["id"], title, (), 0, tuple(notes))
    users = canvas.get_all("users", **{"enrollment_type[]": "student"})
    rows = [[user] for user in users]
    students = (grade.student for grade in handed_in.values())
    matched = match(students, rows, _names_of, notes, "the course in Canvas")
    user_of = {student: user["id"] for student, (user,) in matched.items()}
    place = f"assignments/{assignment['id']}/submissions"
    listed = canvas.get_all(place, **{"include[]": "submission_comments"})
    there = {submission["user_id"]: submission for submission in listed}
    changes, same = [], 0
    for student, user in user_of.items():
        own = there.get(user, {})
        if own.get("excused"):
            notes.append(f"{student} is excused in Canvas and stays so.")
            continue
        if own.get("points_deducted"):
            notes.append(
                f"{student}: Canvas takes off {as_shown(own['points_deducted'])} points for lateness by a policy of "
                "its own, beside what the grade here has lost. Switch one of the two off."
            )
        points = handed_in[student].score
        comment = marked(comments[student]) if comments.get(student) else ""
        change = Change(
            student,
            user,
            _points(own),
            None if _points(own) == points else points,
            "" if _has_comment(own, comment) else comment,
        )
        if change.points is None and not change.comment:
            same += 1
        else:
            changes.append(change)
    return Plan(assignment["id"], title, tuple(changes), same, tuple(notes))


def _names_of(row: list) -> list[str]:
    (user,) = row
    names = [user.get(name) or "" for name in ("login_id", "sis_user_id", "email")]
    called = canvas_id(user.get("sortable_name") or "", str(user["id"]))
    return [str(user["id"]), called, *names]


def show(found: Plan) -> None:
    """Print what would be sent, student by student."""
    console = Console(width=120)
    if found.changes:
        table = Table(title=plain_cell(f"What would change in Canvas: {found.title}"))
        for head in ("student", "points before", "after", "comment"):
            table.add_column(head, overflow="fold")
        for change in found.changes:
            before = "-" if change.before is None else f"{as_shown(change.before)}"
            after = "unchanged" if change.points is None else f"{as_shown(change.points)}"
            first = change.comment.partition("\n")[0]
            # names and comments are no markup
            table.add_row(*map(plain_cell, (change.student, before, after, first[:60])))
        console.print(table)
    console.print(f"{len(found.changes)} to send; {found.same} are in Canvas as they are.")


def send(canvas: Canvas, found: Plan) -> PushResult:
    """Send the changes of a plan, each once.

    A student whose request is not answered is looked up in Canvas. After MAX_UNANSWERED of them in a row
    the rest is left for another run. Raises LmsError when Canvas refuses one; those before are done.
    """
    done: list[str] = []
    doubtful: list[Change] = []
    notes: list[str] = []
    in_a_row = 0
    with progress("Sending") as bar:
        for change in bar.track(found.changes):
            try:
                is_there = _sent(canvas, found.assignment, change, notes)
            except LmsError as error:
                raise LmsError(
                    f"{error} {len(done)} of {len(found.changes)} were sent before {change.student}; run the "
                    "command again to go on."
                ) from error
            if is_there:
                done.append(change.student)
                in_a_row = 0
                continue
            doubtful.append(change)
            in_a_row += 1
            if in_a_row == MAX_UNANSWERED:
                break
    return PushResult(tuple(done), tuple(change.student for change in doubtful), tuple(notes))


def _sent(canvas: Canvas, assignment: int, change: Change, notes: list[str]) -> bool:
    """Send one change; returns whether it is in Canvas."""
    data = {}
    if change.points is not None:
        data["submission[posted_grade]"] = with_decimals(change.points)
    if change.comment:
        data["comment[text_comment]"] = change.comment
    try:
        answer = canvas.put(f"assignments/{assignment}/submissions/{change.user}", data)
    except UnansweredError:
        return _arrived(canvas, assignment, change)
    if change.points is not None and _points(answer) != change.points:
        notes.append(
            f"{change.student}: Canvas recorded {_points(answer)} points, not {as_shown(change.points)}."
        )
    return True


def _arrived(canvas: Canvas, assignment: int, change: Change) -> bool:
    """Whether a change that was not answered is in Canvas; looks several times, since it may come late."""
    failed = 0
    while True:
        own = canvas.get(
            f"assignments/{assignment}/submissions/{change.user}",
            **{"include[]": "submission_comments"},
        )
        has_points = change.points is None or _points(own) == change.points
        if has_points and (not change.comment or _has_comment(own, change.comment)):
            return True
        if not canvas.pause(failed):
            return False
        failed += 1
