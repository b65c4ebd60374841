"""Everything of nbgrader 0.9.6 that is used beyond its documented commands and settings.

- `preprocessors.SaveCells`, run alone; it raises RuntimeError when cells were removed.
- `preprocessors.AssignLatePenalties.init_plugin` and `plugin_inst`, for the configured plugin.
- `api.Gradebook.db` and `.engine`, to write a submission's grades in one transaction.
- `api.get_alembic_version`, replaced by a faster one (see `_version_of_tables`), and `dbutil.ALEMBIC_DIR`.
- `api.SubmittedAssignment` made without notebooks, for an extension of a student who has not handed in.
- `submission_id` and `assignment_id` among the resources of formgrader's page of one submission.
- `utils.determine_grade` and `utils.compute_checksum`, for written answers.
- `utils.parse_utc`, which reads timestamp.txt.
- `utils.notebook_hash`, by which a student's `fetch_feedback` looks for a page.
- `server_extensions.formgrader`'s bundled bootstrap, which the feedback template includes.
- `converters.Autograde.start`, replaced by `install` (see there), which uses the attributes `coursedir`,
  `force`, `create_student` and `log`.
- `converters.GenerateAssignment`'s setting `preprocessors`, whose steps are run one by one.

tests/autograder/test_adapters.py fails when one of these moves. nbgrader is imported where it is needed: it takes
two seconds.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import math
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import CourseError, GradebookError
from autograder.instructor_settings import CONFIG

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from nbgrader.api import Gradebook
    from nbgrader.converters import Autograde
    from traitlets.config import Config

ANALYZE_AFTER = 100


# Settings -------------------------------------------------------------------------------------


def load_config(root: Path) -> Config:
    """The settings in a course's nbgrader_config.py; CourseError when it can't be run."""
    from traitlets.config import PyFileConfigLoader

    try:
        return PyFileConfigLoader(CONFIG, path=str(root)).load_config()
    except Exception as error:
        raise CourseError(
            f"{root / CONFIG} can't be read: {type(error).__name__}: {error}. Correct it, or restore it "
            "from the repository."
        ) from error


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
    return ScriptDirectory.from_config(settings).get_current_head()


def make_gradebooks_fast() -> None:
    """Let this process make new gradebooks without starting that program."""
    from nbgrader import api

    api.get_alembic_version = _version_of_tables


@contextlib.contextmanager
def explained(url: str) -> Iterator[None]:
    """Turn the database's errors into a GradebookError that says what to do."""
    import sqlalchemy
    from nbgrader.api import InvalidEntry

    make_gradebooks_fast()
    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, InvalidEntry) as error:
        reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
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
    """The file of a gradebook that is a file; None for a server's."""
    import sqlalchemy

    address = sqlalchemy.engine.make_url(url)
    is_file = address.get_backend_name() == "sqlite" and address.database
    return Path(address.database) if is_file else None


def make_folder_of(url: str) -> None:
    """Make the folder of a gradebook that is a file: nbgrader's commands open the file without it."""
    if file := _database_file(url):
        file.parent.mkdir(parents=True, exist_ok=True)


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

    Raises RuntimeError when cells were added or removed since submissions were graded.
    """
    from nbgrader.preprocessors import SaveCells

    resources = {"nbgrader": {"notebook": exercise, "assignment": exercise, "db_url": db_url}}
    SaveCells().preprocess(notebook, resources)


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

    Raises ValueError when it can't be read, or isn't an ordinary file.
    """
    from nbgrader.utils import parse_utc

    path = folder / "timestamp.txt"
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ValueError("not an ordinary file")
        return parse_utc(path.read_text(encoding="utf-8")[:100].strip())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, OverflowError) as error:
        raise ValueError(str(error)) from error


def exchanged_name(secret: str, exercise: str) -> str:
    """How the page of a submission is called in the exchange's folder: only who has its secret can tell."""
    from nbgrader.utils import notebook_hash

    return f"{notebook_hash(secret=secret, notebook_id=exercise)}.html"


# The one replacement --------------------------------------------------------------------------


def install() -> None:
    """Let `nbgrader autograde` and formgrader's Autograde grade as `python -m autograder grade` does.

    nbgrader's converter looks for notebooks by their exact names, copies files unseen, and removes what
    it can't grade; it has no hook before that. So its `start` is replaced, once, by one that hands the
    submissions to `grade.grade_class`. `nbgrader_settings` calls this.
    """
    from nbgrader.converters import Autograde

    Autograde.start = _start


def _start(converter: Autograde) -> None:
    """Grade the submissions that an Autograde converter names, and record them."""
    from nbgrader.converters.base import NbGraderException

    from autograder.course import Course
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
        score = f"{result.score:g} of {result.points:g} points"
        converter.log.info("Graded %s, %s: %s", result.student, result.exercise, score)
