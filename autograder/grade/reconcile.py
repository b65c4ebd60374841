"""One truth for grades: the gradebook holds what the stored results say, and all that a person entered.

A result is stored beside its notebook, its points in the gradebook, and either can be put back from an older
copy, or be removed. So every command that tells grades first compares the two. Automatic points that the
gradebook lacks, or has of an earlier grading, are recorded again from the stored result. What a person has
entered is in the gradebook alone: it is remembered in STATE_FILE, so that its loss is noticed.

An older copy of a gradebook is recognised by a number, which the gradebook and STATE_FILE both hold and which
rises with every change; between two equal numbers, a difference is what a person has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import nbformat

from autograder.course import Course, Exercise
from autograder.errors import GradebookError
from autograder.files import digest_of, write_whole
from autograder.grade.gradebook import Recorder, autograded_notebook
from autograder.grade.lock import only_grader
from autograder.grade.read_gradebook import opened
from autograder.grade.result import Result
from autograder.nbgrader_adapter import transaction

if TYPE_CHECKING:
    from nbgrader.api import Gradebook
    from sqlalchemy import Table

STATE_FILE = "gradebook_state.json"
TABLE = "autograder_state"


@dataclass(frozen=True)
class _ByHand:
    """What persons have entered for a submission. cells: points, extra credit and comment, by cell."""

    submission: str
    cells: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Recorded:
    """What the gradebook holds of an exercise.

    number: of its last change, 0 before the first; cells: those that may be graded or commented on; scores:
    automatic ones, by student and cell; by_hand: by student.
    """

    number: int
    cells: Collection[str]
    scores: Mapping[str, Mapping[str, float | None]]
    by_hand: Mapping[str, _ByHand]


@dataclass(frozen=True)
class _State:
    """What was last seen of an exercise: the number, a digest of the results, what persons had entered."""

    number: int = 0
    results: str = ""
    by_hand: Mapping[str, _ByHand] = field(default_factory=dict)


def reconcile(
    course: Course, exercises: Sequence[Exercise], results: Sequence[Result]
) -> list[str]:
    """Record again, from stored results, what the gradebook lacks; returns sentences that say for whom.

    results: of these exercises. Points and comments entered by persons are never touched. Raises
    GradebookError when some of those that were seen before are lost, or when an exercise isn't in the
    gradebook; then nothing was written.
    """
    found, again = _compared(course, exercises, results)
    notes = []
    if again:
        with only_grader(course.home):
            # another grader may have recorded some of it meanwhile
            found, again = _compared(course, exercises, results)
            with Recorder(course) as recorder:
                for result in again:
                    path = autograded_notebook(course, result.student, result.exercise)
                    recorder.record_again(result, nbformat.read(path, as_version=4))
        for exercise in exercises:
            if students := sorted(r.student for r in again if r.exercise == exercise.name):
                notes.append(
                    f"{exercise}: the gradebook lacked grades, or had older ones, of {', '.join(students)}; "
                    "they were recorded again from the stored results."
                )
    _remember(course, exercises, results, found)
    return notes


def _compared(
    course: Course, exercises: Sequence[Exercise], results: Sequence[Result]
) -> tuple[dict[str, _Recorded], list[Result]]:
    """What the gradebook holds of each exercise with results, and the results to record again."""
    states, found, again = _states(course), {}, []
    for exercise in exercises:
        own = [result for result in results if result.exercise == exercise.name]
        if not own:
            continue
        recorded = _recorded(course, exercise)
        state = states.get(exercise.name, _State())
        _refuse_losses(course, exercise, recorded, state)
        found[exercise.name] = recorded
        again += [r for r in own if recorded.number < state.number or _differs(recorded, r)]
    return found, again


def _differs(recorded: _Recorded, result: Result) -> bool:
    """Whether the gradebook's automatic scores aren't those of a result."""
    scores = recorded.scores.get(result.student, {})
    return any(scores.get(cell.grade_id) != cell.earned for cell in result.cells)


def _refuse_losses(course: Course, exercise: Exercise, recorded: _Recorded, state: _State) -> None:
    """Raise GradebookError when something is lost that a person had entered."""
    lost = []
    for student, before in state.by_hand.items():
        now = recorded.by_hand.get(student, _ByHand(""))
        if now.submission == before.submission and recorded.number >= state.number:
            # the same gradebook: a person has changed it
            continue
        if any(
            now.cells.get(cell) != entered
            for cell, entered in before.cells.items()
            if cell in recorded.cells
        ):
            lost.append(student)
    if lost:
        raise GradebookError(
            f"{exercise}: the gradebook has lost what a person had entered for {', '.join(lost)} (points or "
            "comments), because an older copy of it was put back or students were removed: put the newer "
            f"copy back, or enter it again as {course.home / STATE_FILE} has it, or delete that file to go "
            "on without."
        )


def _recorded(course: Course, exercise: Exercise) -> _Recorded:
    from nbgrader.api import MissingEntry

    with opened(course) as gradebook:
        try:
            assert gradebook is not None
            (notebook,) = gradebook.find_assignment(exercise.name).notebooks
        except (AssertionError, MissingEntry, ValueError):
            raise GradebookError(
                f"{exercise} has stored results and isn't in the gradebook {course.db_url}: run `python -m "
                "autograder grade`, or put back the gradebook that has its grades."
            ) from None
        cells = {cell.name for cell in (*notebook.grade_cells, *notebook.solution_cells)}
        scores: dict[str, dict[str, float | None]] = {}
        entered: dict[str, dict[str, list]] = {}
        submissions: dict[str, str] = {}
        for student, submission, cell, auto, points, extra in _grades(gradebook, exercise):
            submissions[student] = submission
            scores.setdefault(student, {})[cell] = auto
            if points is not None or extra:
                entered.setdefault(student, {})[cell] = [points, extra, None]
        for student, cell, comment in _comments(gradebook, exercise):
            own = entered.setdefault(student, {})
            own[cell] = [*own.get(cell, [None, None, None])[:2], comment]
        by_hand = {student: _ByHand(submissions[student], own) for student, own in entered.items()}
        for student, submission in submissions.items():
            by_hand.setdefault(student, _ByHand(submission))
        return _Recorded(_number(gradebook, exercise), cells, scores, by_hand)


def _grades(gradebook: Gradebook, exercise: Exercise) -> Sequence[tuple]:
    """Student, submission, cell, automatic points, points by hand and extra credit: one query."""
    from nbgrader.api import BaseCell, Grade

    columns = Grade.auto_score, Grade.manual_score, Grade.extra_credit
    return _of_cells(gradebook, exercise, Grade, BaseCell.name, *columns)


def _comments(gradebook: Gradebook, exercise: Exercise) -> Sequence[tuple]:
    """Student, cell and comment, of comments that persons have written: one query."""
    from nbgrader.api import BaseCell, Comment

    rows = _of_cells(gradebook, exercise, Comment, BaseCell.name, Comment.manual_comment)
    return [(student, cell, comment) for student, _, cell, comment in rows if comment]


def _of_cells(
    gradebook: Gradebook, exercise: Exercise, kind: Any, *columns: Any
) -> Sequence[tuple]:
    from nbgrader.api import Assignment, BaseCell, SubmittedAssignment, SubmittedNotebook

    query = gradebook.db.query(SubmittedAssignment.student_id, SubmittedAssignment.id, *columns)
    return (
        query.select_from(kind)
        .join(BaseCell, kind.cell_id == BaseCell.id)
        .join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .filter(Assignment.name == exercise.name)
        .all()
    )


# What was seen last ---------------------------------------------------------------------------


def _remember(
    course: Course,
    exercises: Sequence[Exercise],
    results: Sequence[Result],
    found: Mapping[str, _Recorded],
) -> None:
    """Keep what the gradebook holds now, under the next number if it is anything new."""
    states = _states(course)
    changed = {}
    for exercise in exercises:
        if exercise.name not in found:
            continue
        own = [
            (r.student, r.score, r.basis.submission) for r in results if r.exercise == exercise.name
        ]
        recorded, before = found[exercise.name], states.get(exercise.name, _State())
        entered = {student: one for student, one in recorded.by_hand.items() if one.cells}
        now = _State(max(before.number, recorded.number), digest_of(sorted(own)), entered)
        if now != before or recorded.number != before.number:
            changed[exercise.name] = _State(now.number + 1, now.results, now.by_hand)
    if not changed:
        return
    # first the gradebook: a number that is higher there is no loss
    with transaction(course.db_url) as gradebook:
        connection, table = gradebook.db.connection(), _table()
        table.create(connection, checkfirst=True)
        for name, state in changed.items():
            connection.execute(table.delete().where(table.c.exercise == name))
            connection.execute(table.insert().values(exercise=name, number=state.number))
        gradebook.db.commit()
    _write_states(course, states | changed)


def _table() -> Table:
    from sqlalchemy import Column, Integer, MetaData, String, Table

    columns = Column("exercise", String(128), primary_key=True), Column("number", Integer)
    return Table(TABLE, MetaData(), *columns)


def _number(gradebook: Gradebook, exercise: Exercise) -> int:
    """The number of an exercise's last change in the gradebook; 0 in one that has none."""
    from sqlalchemy import inspect

    connection, table = gradebook.db.connection(), _table()
    if not inspect(connection).has_table(TABLE):
        return 0
    found = connection.execute(table.select().where(table.c.exercise == exercise.name)).first()
    return found.number if found else 0


def _states(course: Course) -> dict[str, _State]:
    try:
        stored = json.loads((course.home / STATE_FILE).read_text(encoding="utf-8"))
        return {
            exercise: _State(
                one["number"],
                one["results"],
                {student: _ByHand(**own) for student, own in one["by_hand"].items()},
            )
            for exercise, one in stored.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise GradebookError(
            f"{course.home / STATE_FILE}, which remembers what persons have entered in the gradebook, can't be "
            f"read ({type(error).__name__}): put back an older copy, or delete it to go on."
        ) from error


def _write_states(course: Course, states: Mapping[str, _State]) -> None:
    text = json.dumps({name: asdict(state) for name, state in states.items()}, indent=1)
    write_whole(course.home / STATE_FILE, text, mode=0o600)
