"""Errors that end a command: each message names the file or setting and the way out.

One class per kind of failure, so that code and tests can tell them apart. This module imports nothing
of this package.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path


class CourseError(Exception):
    """An error for the instructor; `main` prints its message and ends with exit status 2."""


class MissingPackageError(CourseError):
    """Something was asked for that needs a package which isn't installed with the grader itself."""


class CatalogueError(CourseError):
    """A reference solution, its checks or its catalogue of mistakes is wrong."""


class ExerciseError(CourseError):
    """A released exercise is missing, was edited, or is not the one that was graded before."""


class GradebookError(CourseError):
    """The gradebook's database can't be used, is in use by another grader, or holds no grades."""


class SubmissionFolderError(CourseError):
    """A folder or zip file of submissions can't be used."""


class ExportError(CourseError):
    """Grades can't be written in the format that was asked for."""


class TableError(CourseError):
    """A table that an instructor has written, or an LMS has exported, can't be used."""


class DateError(CourseError):
    """A due date or an extension is not a time, or makes no sense."""


class GroupError(CourseError):
    """A roster's groups contradict one another."""


class LmsError(CourseError):
    """A learning management system refuses something, can't be reached, or does not answer."""


class SandboxError(CourseError):
    """Submissions can't be isolated, although that was required."""


class WorkerPoolError(CourseError):
    """The processes that examine submissions, here or on a cluster, can't be started."""


class BookError(CourseError):
    """The book has not been built, or does not build."""


class ResultError(CourseError):
    """A stored result is damaged, or was written by another version of the grader."""


class OutputError(CourseError):
    """A file or folder that a command writes to can't be written."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's errors while a file or folder is written into an OutputError that names it."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} can't be written: {error.strerror or error}. Make it writable, or write elsewhere."
        ) from error
