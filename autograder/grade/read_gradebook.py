"""Opening nbgrader's gradebook to read it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.nbgrader_adapter import explained, gradebook_exists


@contextlib.contextmanager
def opened(course: Course) -> Iterator[Gradebook | None]:
    """A course's gradebook; None when its database is a file that does not exist yet.

    Raises GradebookError when the database can't be used.
    """
    if not gradebook_exists(course.db_url):
        yield None
        return
    with explained(course.db_url), Gradebook(course.db_url) as gradebook:
        yield gradebook
