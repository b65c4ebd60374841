"""nbgrader's exchange: whole folders out and back in, within limits, and feedback back to students.

`c.CourseDirectory.ignore` of `nbgrader_settings` keeps nbgrader's converters from copying anything but
notebooks, and would empty the exchange's folders, too. So the steps of the exchange that copy
assignments have a rule of their own, installed through `c.ExchangeFactory`.
"""

from __future__ import annotations

import fnmatch
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nbgrader.exchange import ExchangeError, default

from autograder.course import Course, Exercise
from autograder.errors import CourseError, ResultError
from autograder.grade.feedback import FeedbackWriter
from autograder.grade.gradebook import stored_result
from autograder.grade.submission import (
    MAX_NOTEBOOK,
    NotReadError,
    ordinary_content,
    read_submission,
)
from autograder.nbgrader_adapter import exchanged_name, make_folder_of

if TYPE_CHECKING:
    from nbgrader.coursedir import CourseDirectory

SECRET, MAX_SECRET = "submission_secret.txt", 1_000
MAX_FILES = 1_000
MAX_TOTAL = 100_000_000
# what editors and Python leave behind
LEFT_BEHIND = (".*", "__pycache__", "*.pyc")
# what an instructor may have beside an exercise and students must not see
NOT_FOR_STUDENTS = (*LEFT_BEHIND, "*.py", "*.db", "*.html", "*.csv", "*.json")
SOLUTION_MARKS = (b"### BEGIN SOLUTION", b"### BEGIN HIDDEN", b"### BEGIN MARK SCHEME")


def copy_folder(
    source: Path, target: Path, left_out: tuple[str, ...], log: logging.Logger
) -> list[Path]:
    """Copy the ordinary files of a folder and its subfolders; returns their paths in it.

    Left out, with a warning: links, pipes and other special files, and what is beyond MAX_NOTEBOOK
    bytes a file, MAX_TOTAL bytes or MAX_FILES files a folder. Left out without a word: what matches a
    pattern of left_out. A file that is there already is kept. Raises ExchangeError for a linked folder.
    """
    if source.is_symlink():
        raise ExchangeError(f"{source} is a link, which is not followed.")
    target.mkdir(parents=True, exist_ok=True)
    copied: list[Path] = []
    total = 0
    for place, folders, names in os.walk(source):
        folders[:] = [name for name in sorted(folders) if not _matches(name, left_out)]
        for name in sorted(names):
            path = Path(place, name)
            own = path.relative_to(source)
            if _matches(name, left_out) or (target / own).exists():
                continue
            try:
                content = ordinary_content(path, MAX_NOTEBOOK, "file")
            except NotReadError as error:
                log.warning("%s is left out: %s", path, error)
                continue
            total += len(content)
            if total > MAX_TOTAL or len(copied) >= MAX_FILES:
                log.warning("%s and what follows is left out: the folder is too large.", path)
                return copied
            (target / own).parent.mkdir(parents=True, exist_ok=True)
            (target / own).write_bytes(content)
            copied.append(own)
    return copied


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


class _WholeFolders:
    """Copies with `copy_folder`, in place of what looks at `CourseDirectory.ignore`."""

    left_out: tuple[str, ...] = LEFT_BEHIND
    # of the exchange's class that this stands before
    log: logging.Logger
    coursedir: CourseDirectory
    set_perms: Callable[..., None]

    def do_copy(self, src: str, dest: str, log: logging.Logger | None = None) -> None:
        """Copy a folder of one assignment."""
        copy_folder(Path(src), Path(dest), self.left_out, self.log)
        if self.coursedir.groupshared:
            self.set_perms(dest, 0o664, 0o2775)


class ReleaseAssignment(_WholeFolders, default.ExchangeReleaseAssignment):
    """Hands out an exercise; refuses notebooks that hold solutions."""

    left_out = NOT_FOR_STUDENTS

    def copy_files(self) -> None:
        """Copy the released exercise to where students fetch it."""
        for path in sorted(Path(self.src_path).rglob("*.ipynb")):
            if any(mark in path.read_bytes() for mark in SOLUTION_MARKS):
                self.fail(
                    f"{path} holds a solution: run `python -m autograder build --exercise {path.stem}` first."
                )
        super().copy_files()


class FetchAssignment(_WholeFolders, default.ExchangeFetchAssignment):
    """Gives a student an exercise."""


class Submit(_WholeFolders, default.ExchangeSubmit):
    """Hands in a student's folder."""


class Collect(_WholeFolders, default.ExchangeCollect):
    """Takes in what students have handed in."""

    def init_src(self) -> None:
        """Find the submissions; it looks up the due date in the gradebook, which may be a new one."""
        make_folder_of(self.coursedir.db_url)
        super().init_src()


class ReleaseFeedback(default.ExchangeReleaseFeedback):
    """Hands out the feedback pages of submissions that came through the exchange.

    nbgrader's own looks for a submission's secret beside its feedback page; here it stays with the
    submission. Left out, with a warning: pages of submissions without a secret, which were not handed in
    through the exchange, and pages of earlier submissions than the one that was collected last or that
    are older than its grade.
    """

    def copy_files(self) -> None:
        """Copy the pages to where students fetch them."""
        folders = self.coursedir
        root = Path(folders.root)
        course = Course(root, submissions=root / folders.submitted_directory)
        exercise = course.exercise(folders.assignment_id)
        chosen = folders.student_id or "*"
        left_out = set(folders.student_id_exclude.split(","))
        writer = FeedbackWriter(course)
        for page in sorted(course.feedback.glob(f"*/{exercise.name}/{exercise.name}.html")):
            student = page.parents[1].name
            if not fnmatch.fnmatchcase(student, chosen) or student in left_out:
                continue
            try:
                name = self._name(course, writer, student, exercise)
            except CourseError as error:
                self.log.warning("%s is not handed out: %s", page, error)
                continue
            # students never see half of it
            aside = Path(self.dest_path, f"{name}.new")
            aside.write_bytes(page.read_bytes())
            aside.chmod(0o664 if folders.groupshared else 0o644)
            aside.replace(Path(self.dest_path, name))
            self.log.info("Handed out the feedback of %s on %s", student, exercise)

    def _name(
        self, course: Course, writer: FeedbackWriter, student: str, exercise: Exercise
    ) -> str:
        """What a page is called in the exchange's folder; an error says why it is not handed out."""
        folder = course.submitted / student / exercise.name
        try:
            secret = ordinary_content(folder / SECRET, MAX_SECRET, "secret").decode("ascii")
        except (NotReadError, UnicodeDecodeError):
            secret = ""
        if not secret:
            raise ResultError(
                f"{folder} has no {SECRET}: it was not handed in through the exchange"
            )
        graded = stored_result(course, student, exercise.name)
        if (
            graded is None
            or graded.basis.submission != read_submission(course, student, exercise).digest
        ):
            raise ResultError("another submission has been collected since; grade it first")
        if not writer.is_written(student, exercise.name):
            raise ResultError("it is older than the grade; write the feedback first")
        return exchanged_name(secret, exercise.name)
