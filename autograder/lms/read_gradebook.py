"""Opening nbgrader's gradebook to read it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy
from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.nbgrader_adapter import explained


@contextlib.contextmanager
def opened(course: Course) -> Iterator[Gradebook | None]:
    """A course's gradebook; None when its database is a file that does not exist yet.

    nbgrader would make the file. Raises GradebookError when the database can't be used.
    """
    with explained(course.db_url):
        address = sqlalchemy.engine.make_url(course.db_url)
        file = address.database if address.get_backend_name() == "sqlite" else None
        if file and not Path(file).exists():
            yield None
            return
        with Gradebook(course.db_url) as gradebook:
            yield gradebook
