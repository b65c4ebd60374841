"""Everything of nbgrader 0.9.6 that is used beyond its documented commands and settings.

- `preprocessors.SaveCells`, run alone; it raises RuntimeError when cells were removed.
- `preprocessors.AssignLatePenalties.init_plugin` and `plugin_inst`, for the configured plugin.
- `api.Gradebook.db` and `.engine`, to write a submission's grades in one transaction, and to remove a cell that
  holds no points.
- `api.app_log`, to which its gradebook logs tracebacks of what it raises.
- `api.get_alembic_version`, replaced by a faster one (see `_version_of_tables`), and `dbutil.ALEMBIC_DIR`.
- `api.SubmittedAssignment` made without notebooks, for an extension of a student who has not handed in.
- `submission_id` and `assignment_id` among the resources of formgrader's page of one submission.
- `utils.determine_grade` and `utils.compute_checksum`, for written answers.
- `utils.notebook_hash`, by which a student's `fetch_feedback` looks for a page.
- `server_extensions.formgrader`'s bundled bootstrap, which the feedback template includes.
- `converters.Autograde.start`, replaced by `grade.nbgrader_autograde`, with the attributes `coursedir`, `force`,
  `create_student` and `log`.
- `converters.GenerateAssignment`'s setting `preprocessors`, whose steps are run one by one.

tests/autograder/test_adapters.py fails when one of these moves. nbgrader is imported where it is needed: it takes
two seconds.
"""

from __future__ import annotations

import codecs
import contextlib
import datetime
import functools
import logging
import math
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import CourseError, DateError, GradebookError
from autograder.files import PRIVATE
from autograder.installing import needing
from autograder.instructor_settings import CONFIG
from autograder.times import read_time

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from nbgrader.api import Gradebook
    from traitlets.config import Config

ANALYZE_AFTER = 100
# bytes of timestamp.txt that are read
MAX_TIMESTAMP = 200


# Settings -------------------------------------------------------------------------------------


def release_steps(config: Config) -> list[Callable[[NotebookNode, dict], tuple]]:
    """The configured steps of generate_assignment but the two that need a kernel or a gradebook."""
    from nbgrader.preprocessors import InstantiateTests, SaveCells

    steps = config.GenerateAssignment.preprocessors
    return [step(config=config) for step in steps if step not in (InstantiateTests, SaveCells)]


def bootstrap_folder() -> Path:
    """The folder of the style sheet that nbgrader's feedback template includes."""
    from nbgrader.server_extensions import formgrader

    static = Path(formgrader.__file__).parent / "static" / "node_modules"
    return static / "bootstrap" / "dist" / "css"


# The gradebook --------------------------------------------------------------------------------


@functools.cache
def _version_of_tables() -> str:
    """The version that a new gradebook's tables have.

    nbgrader starts a program that takes over a second to say so, for each gradebook that it makes.
    """
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from nbgrader.dbutil import ALEMBIC_DIR

    settings = Config()
    settings.set_main_option("script_location", ALEMBIC_DIR)
    return str(ScriptDirectory.from_config(settings).get_current_head())


def make_gradebooks_fast() -> None:
    """Let this process make new gradebooks without starting that program."""
    from nbgrader import api

    api.get_alembic_version = _version_of_tables


@contextlib.contextmanager
def _said_once() -> Iterator[None]:
    """Keep nbgrader from logging the tracebacks of the database's errors, which are raised all the same."""
    from nbgrader.api import app_log

    def is_other(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith("Rolling back session")

    app_log.addFilter(is_other)
    try:
        yield
    finally:
        app_log.removeFilter(is_other)


@contextlib.contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn the database's errors into a GradebookError that says what to do."""
    import sqlalchemy
    from nbgrader.api import InvalidEntry

    make_gradebooks_fast()
    try:
        with needing("psycopg", "postgres", "A gradebook on a server"), _said_once():
            yield
    except (sqlalchemy.exc.SQLAlchemyError, InvalidEntry) as error:
        reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
        if "database is locked" in reason:
            reason += " by another program, such as formgrader or one that shows databases; wait, or close it"
        try:
            found = sqlalchemy.engine.make_url(url)
            found.get_dialect()
            shown = found.render_as_string()
        except sqlalchemy.exc.ArgumentError:
            raise GradebookError(
                f"{url!r} is not the address of a database. Write it like "
                "sqlite:////folder/gradebook.db or postgresql://user@host/name."
            ) from error
        raise GradebookError(
            f"The gradebook {shown} can't be used: {reason}. What was recorded before is kept; correct "
            "this and run the command again to go on."
        ) from error


def _database_file(url: str) -> Path | None:
    """The file of a gradebook that is a file; None for a server's, and for what is no address."""
    import sqlalchemy

    try:
        address = sqlalchemy.engine.make_url(url)
    except sqlalchemy.exc.ArgumentError:
        # what opens it says so
        return None
    if address.get_backend_name() != "sqlite" or not address.database:
        return None
    return Path(address.database)


def make_folder_of(url: str) -> None:
    """Make the folder of a gradebook that is a file: nbgrader's commands open the file without it."""
    if file := _database_file(url):
        file.parent.mkdir(parents=True, exist_ok=True)


def make_private(url: str) -> None:
    """Close a gradebook that is a file to others; one that doesn't exist yet is made empty, if its folder exists."""
    file = _database_file(url)
    with contextlib.suppress(OSError):
        # it may belong to somebody else, or its folder may be missing: the database says so
        if file is not None:
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE))
            file.chmod(PRIVATE)


def gradebook_exists(url: str) -> bool:
    """Whether there is a gradebook at an address: False only for a file that does not exist yet.

    nbgrader would make the file. Raises GradebookError for what is no address.
    """
    with explained(url):
        file = _database_file(url)
    return file is None or file.exists()


class Transactions:
    """Writes to a gradebook, all or nothing each, over one connection that stays open."""

    def __init__(self, url: str) -> None:
        from nbgrader.api import Gradebook

        # nbgrader 0.9.6 with SQLAlchemy 2 warns at every submission, to no effect
        warnings.filterwarnings("ignore", message="Object of type <Submitted")
        self._url = url
        self._written = 0
        with explained(url):
            make_private(url)
            self._gradebook = Gradebook(url)

    @contextlib.contextmanager
    def begin(self) -> Iterator[Gradebook]:
        """A gradebook whose commits are written at the end, unless something raises."""
        import sqlalchemy
        from sqlalchemy.orm import scoped_session, sessionmaker

        book = self._gradebook
        with explained(self._url):
            with book.engine.begin() as connection:
                made = sessionmaker(connection, join_transaction_mode="rollback_only", future=True)
                book.db = scoped_session(made)
                yield book
                book.db.remove()
            self._written += 1
            if self._written % ANALYZE_AFTER == 0:
                # without statistics SQLite scans every student's grades for one student's
                with book.engine.begin() as connection:
                    connection.execute(sqlalchemy.text("ANALYZE"))

    def close(self) -> None:
        """Close the connection."""
        self._gradebook.close()


@contextlib.contextmanager
def transaction(url: str) -> Iterator[Gradebook]:
    """A gradebook whose commits are written at the end, unless something raises."""
    transactions = Transactions(url)
    try:
        with transactions.begin() as gradebook:
            yield gradebook
    finally:
        transactions.close()


def save_cells(exercise: str, db_url: str, notebook: NotebookNode) -> None:
    """Make a notebook's cells known to the gradebook.

    Raises RuntimeError when cells for answers or checks were added or removed since submissions were graded.
    """
    from nbgrader.api import Gradebook
    from nbgrader.preprocessors import SaveCells

    with Gradebook(db_url) as gradebook:
        _save_only_shown(gradebook, exercise, notebook)
    resources = {"nbgrader": {"notebook": exercise, "assignment": exercise, "db_url": db_url}}
    SaveCells().preprocess(notebook, resources)


def _save_only_shown(gradebook: Gradebook, exercise: str, notebook: NotebookNode) -> None:
    """Add and remove locked cells that hold no points, which SaveCells refuses once work is graded."""
    from nbgrader.api import MissingEntry
    from nbgrader.utils import is_grade, is_locked, is_solution, is_task

    def names(kind: Callable[[NotebookNode], bool]) -> set[str]:
        return {cell.metadata["nbgrader"]["grade_id"] for cell in notebook.cells if kind(cell)}

    with contextlib.suppress(MissingEntry):
        known = gradebook.find_notebook(exercise, exercise)
        parts = (known.grade_cells, known.solution_cells, known.task_cells)
        with_points = [names(kind) for kind in (is_grade, is_solution, is_task)]
        if not known.submissions or [{cell.name for cell in part} for part in parts] != with_points:
            return
        own = set.union(names(is_locked), *with_points)
        for cell in known.source_cells:
            if cell.name not in own:
                gradebook.db.delete(cell)
        then = {cell.name for cell in known.source_cells}
        for cell in notebook.cells:
            if is_locked(cell) and cell.metadata["nbgrader"]["grade_id"] in own - then:
                name = cell.metadata["nbgrader"]["grade_id"]
                gradebook.add_source_cell(name, exercise, exercise, cell_type=cell.cell_type)
        gradebook.db.commit()


def late_penalty(config: Config, student: str, score: float, seconds_late: float) -> float | None:
    """What the configured plugin takes off, between 0 and the score; None for nothing.

    Raises CourseError when the plugin's settings are wrong, or it fails or returns no number.
    """
    from nbgrader.preprocessors import AssignLatePenalties

    try:
        step = AssignLatePenalties(config=config)
        step.init_plugin()
        penalty = step.plugin_inst.late_submission_penalty(student, score, seconds_late)
        if penalty is not None and not math.isfinite(penalty):
            raise ValueError(f"it returns {penalty}")
        return None if penalty is None else min(max(penalty, 0), score)
    # the plugin is code of the instructor's own
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise CourseError(
            f"The late penalty of {student} can't be computed ({reason}). Correct "
            "c.LateSubmissionPlugin.penalty_method or c.AssignLatePenalties.plugin_class in "
            f"{CONFIG} and run the command again."
        ) from error


def written_score(cell: NotebookNode) -> float | None:
    """0 for a written answer that is untouched, else None: somebody has to read it."""
    from nbgrader.utils import determine_grade

    return determine_grade(cell)[0]


def is_untouched(cell: NotebookNode) -> bool:
    """Whether a cell is as it was released."""
    from nbgrader.utils import compute_checksum

    return cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)


# Time stamps ----------------------------------------------------------------------------------


def timestamp(folder: Path) -> datetime.datetime | None:
    """The time in a submission's timestamp.txt, in UTC; None when there is no such file.

    Not read by nbgrader, which guesses the order of day and month, and takes a zone that it doesn't know for UTC.
    Raises ValueError when it can't be read, or isn't an ordinary file.
    """
    path = folder / "timestamp.txt"
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ValueError("not an ordinary file")
        content = path.read_bytes()[:MAX_TIMESTAMP]
        # as Windows' shell and editor write texts
        is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if is_utf_16 else "utf-8-sig")
        return read_time(text.strip())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise ValueError("It is no text in UTF-8.") from error
    except (OSError, DateError) as error:
        raise ValueError(str(error)) from error


def exchanged_name(secret: str, exercise: str) -> str:
    """How the page of a submission is called in the exchange's folder: only who has its secret can tell."""
    from nbgrader.utils import notebook_hash

    return f"{notebook_hash(secret=secret, notebook_id=exercise)}.html"
