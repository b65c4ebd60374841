"""Recording what examined submissions got: nbgrader's steps after Execute, in one transaction each."""

from __future__ import annotations

import contextlib
import datetime
import logging
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
import sqlalchemy
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook, InvalidEntry
from nbgrader.converters import Autograde, autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import latesubmissions, saveautogrades
from sqlalchemy.orm import scoped_session, sessionmaker

from autograder.errors import GradebookError, OutputError
from autograder.grade.nbgrader_steps import SealedExecute

# nbgrader 0.9.6 with SQLAlchemy 2 warns at every submission, to no effect
warnings.filterwarnings("ignore", message="Object of type <Submitted")

COUNT_AFTER = 100


class PlainTimestamps(CourseDirectory):
    """nbgrader's course directory, in which a time stamp that can't be read counts as none."""

    @staticmethod
    def is_readable(folder: Path) -> bool:
        """Whether a folder has a time stamp that can be read, or none."""
        path = folder / "timestamp.txt"
        try:
            if stat.S_ISREG(path.lstat().st_mode):
                utils.parse_utc(path.read_text(encoding="utf-8")[:100].strip())
                return True
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError, OverflowError):
            pass
        return False

    def get_existing_timestamp(self, dest_path: str) -> datetime.datetime | None:
        """The date in a folder's timestamp.txt, if there is one."""
        if self.is_readable(Path(dest_path)):
            return super().get_existing_timestamp(dest_path)
        return None


class OpenGradebook(Gradebook):
    """nbgrader's gradebook that stays open: opening one takes longer than what is done with it."""

    _written = 0

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """What is committed meanwhile is written at the end, all or nothing."""
        with self.engine.begin() as connection:
            made = sessionmaker(connection, join_transaction_mode="rollback_only", future=True)
            self.db = scoped_session(made)
            yield
            self.db.remove()
        self._written += 1
        if self._written % COUNT_AFTER == 0:
            # a database that has not counted its rows seeks a student's grades among everybody's
            with self.engine.begin() as connection:
                connection.execute(sqlalchemy.text("ANALYZE"))

    def close(self) -> None:
        """Stay open: nbgrader closes a gradebook after each step."""


class Recorder(Autograde):
    """nbgrader's autograde for submissions that have been examined already."""

    def __init__(self, coursedir: CourseDirectory, **options: Any) -> None:
        super().__init__(coursedir=coursedir, **options)
        self.log.setLevel(logging.CRITICAL)
        steps = self.autograde_preprocessors
        after = steps[steps.index(SealedExecute) + 1 :]
        self._steps = [step(parent=self) for step in after]
        with explained(coursedir.db_url):
            self._gradebook = OpenGradebook(coursedir.db_url, coursedir.course_id)

    def record(self, student: str, exercise: str, graded: NotebookNode) -> None:
        """Write an examined submission's grades, then the notebook itself.

        The notebook comes last: where it is missing, a submission is graded again.
        """
        source = Path(self._format_source(exercise, student)) / f"{exercise}.ipynb"
        target = Path(self._format_dest(exercise, student)) / f"{exercise}.ipynb"
        own = {"student": student, "assignment": exercise, "notebook": exercise}
        resources = {
            "unique_key": exercise,
            "output_files_dir": f"{exercise}_files",
            "nbgrader": {**own, "db_url": self.coursedir.db_url},
        }
        with contextlib.ExitStack() as stack:
            for module in (autograde, saveautogrades, latesubmissions):
                opened = mock.patch.object(module, "Gradebook", lambda *_: self._gradebook)
                stack.enter_context(opened)
            stack.enter_context(explained(self.coursedir.db_url))
            stack.enter_context(self._gradebook.transaction())
            self.notebooks = [str(source)]
            self.init_assignment(exercise, student)
            notebook = graded
            for step in self._steps:
                notebook, resources = step.preprocess(notebook, resources)
        aside = target.with_suffix(".new")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            aside.write_text(nbformat.writes(notebook), encoding="utf-8")
            aside.chmod(0o444)
            aside.replace(target)
        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise OutputError(
                f"{target} can't be written: {error.strerror}. Mend this and run the command again: what "
                "was graded before is kept, this submission is graded again."
            ) from error


def check_address(url: str) -> None:
    """Raise GradebookError when this is not the address of a database that can be used from here."""
    try:
        sqlalchemy.create_engine(url).dispose()
    except (sqlalchemy.exc.SQLAlchemyError, ImportError, ValueError) as error:
        raise GradebookError(
            f"{url!r} is not the address of a database for the gradebook ({error}). Write "
            "sqlite:////FOLDER/gradebook.db or postgresql://USER@HOST/NAME, with --db or as "
            "c.CourseDirectory.db_url in nbgrader_config.py."
        ) from error


def is_missing(url: str) -> bool:
    """Whether a database is a file that does not exist yet."""
    address = sqlalchemy.engine.make_url(url)
    is_file = address.get_backend_name() == "sqlite" and address.database
    return bool(is_file) and not Path(address.database).exists()


@contextlib.contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn the database's errors into one that says what to do."""
    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, InvalidEntry) as error:
        reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
        shown = sqlalchemy.engine.make_url(url).render_as_string()
        raise GradebookError(
            f"The gradebook {shown} can't be used: {reason}. What was recorded before is kept; mend this "
            "and run the command again to go on."
        ) from error
