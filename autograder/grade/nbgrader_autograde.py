"""`nbgrader autograde` and formgrader's Autograde, grading as `python -m autograder grade` does."""

from __future__ import annotations

from pathlib import Path

from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException

from autograder.course import Course
from autograder.errors import CourseError
from autograder.points import as_shown


def install() -> None:
    """Let nbgrader's converter hand the submissions to `grade_class`.

    It looks for notebooks by their exact names, copies files unseen, and removes what it can't grade; it has
    no hook before that. So its `start` is replaced, once. `nbgrader_settings` calls this.
    """
    Autograde.start = _start


def _start(converter: Autograde) -> None:
    """Grade the submissions that an Autograde converter names, and record them."""
    # nbgrader's other commands read these settings, too, and grade nothing
    from autograder.grade.grade_class import grade_named

    folders = converter.coursedir
    root = Path(folders.root)
    course = Course(
        root,
        submissions=root / folders.submitted_directory,
        database=folders.db_url,
    )
    try:
        done = grade_named(
            course,
            folders.assignment_id,
            folders.student_id,
            force=converter.force,
            create_student=converter.create_student,
        )
    except CourseError as error:
        converter.log.error(str(error))
        raise NbGraderException(str(error)) from error
    for result in done:
        score = f"{as_shown(result.score)} of {as_shown(result.points)} points"
        converter.log.info("Graded %s, %s: %s", result.student, result.exercise, score)
