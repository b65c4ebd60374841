"""Grading a class: every submission ends with a recorded score and a reason, whatever it holds."""

from __future__ import annotations

import concurrent.futures
import datetime
import json
import logging
import os
import stat
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveCells
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from autograder.catalogue import CatalogueError, exercise_names
from autograder.generation import COURSE, nbgrader_config, released
from autograder.rebuild import check_release, read_submission
from autograder.sample import SAMPLE_PREFIX
from autograder.sealed import class_seed, expected_values, grader_digest, results_of

# nbgrader 0.9.6 with SQLAlchemy 2 warns at every submission, to no effect
warnings.filterwarnings("ignore", message="Object of type <Submitted")

MAX_COMPANIONS = 20
MAX_COMPANION_SIZE = 5_000_000


def progress(title: str) -> Progress:
    """A progress bar on the terminal, with time left; on stderr, so that JSON stays JSON."""
    columns = (
        TextColumn(f"{title:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=Console(stderr=True))


def companions(folder: Path, notebook: str) -> list[Path]:
    """The ordinary files that lie beside a submitted notebook, within limits; links are left out."""
    found = []
    for entry in (
        sorted(os.scandir(folder), key=lambda entry: entry.name) if folder.is_dir() else []
    ):
        status = entry.stat(follow_symlinks=False)
        fits = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_COMPANION_SIZE
        if fits and entry.name != notebook and entry.name != "timestamp.txt":
            found.append(Path(entry.path))
    return found[:MAX_COMPANIONS]


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


class ClassAutograde(Autograde):
    """nbgrader's autograde for one submission, which records a score where nbgrader would abort."""

    instructors_error: CatalogueError | None = None

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Always grade: what is up to date never comes here."""
        destination = Path(self._format_dest(assignment_id, student_id))
        if destination.exists():
            utils.rmtree(str(destination))
        return True

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Sanitise, run and save one notebook; a failure of any kind becomes a 0 with a sentence."""
        path = find_notebook(Path(notebook_filename))
        cells, remarks, digest = read_submission(path)
        if str(path) != notebook_filename:
            wanted = Path(notebook_filename).name
            remarks.append(f"The notebook was named {path.name}; its name should be {wanted}.")
        if not PlainTimestamps.is_readable(path.parent):
            remarks.append("The time stamp of this submission can't be read.")
        given = {
            "cells": cells,
            "remarks": remarks,
            "digest": digest,
            "companions": companions(path.parent, path.name) if cells else [],
        }
        try:
            self._both_stages(notebook_filename, given)
        except CatalogueError as error:
            self.instructors_error = error
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:300]}"
            self.log.exception("%s could not be graded", notebook_filename)
            remark = (
                f"This submission could not be graded ({reason}). Your instructor will look at it."
            )
            nothing = {"cells": [], "remarks": [remark], "digest": digest, "companions": []}
            self._both_stages(notebook_filename, nothing)

    def _both_stages(self, notebook_filename: str, given: dict) -> None:
        resources = self.init_single_notebook_resources(notebook_filename)
        resources["metadata"] = {"path": "", "name": resources["unique_key"]}
        notebook = nbformat.v4.new_notebook()
        for self._sanitizing in (True, False):
            self._init_preprocessors()
            resources["submission"] = given
            output, resources = self.exporter.from_notebook_node(notebook, resources)
            notebook = nbformat.reads(output, as_version=4)
        self.write_single_notebook(output, resources)
        self._sanitizing = True


def find_notebook(path: Path) -> Path:
    """The notebook of a submission: the one of the exercise's name, or the only one there is."""
    others = sorted(path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
    return others[0] if not os.path.lexists(path) and len(others) == 1 else path


def register(exercise: str, db_url: str, rerelease: bool = False) -> None:
    """Make the released exercise known to the gradebook, or check that it is the one it knows.

    Raises CatalogueError when the exercise has changed since submissions to it were graded.
    """
    release = released(exercise)
    with Gradebook(db_url) as gradebook:
        try:
            submissions = gradebook.find_assignment(exercise).submissions
            only_samples = all(s.student.id.startswith(SAMPLE_PREFIX) for s in submissions)
            gradebook.find_notebook(exercise, exercise)
            known = True
        except MissingEntry:
            only_samples, known = True, False
    if known:
        try:
            check_release(exercise, release, db_url)
            return
        except CatalogueError:
            if not (rerelease or only_samples):
                raise
            if only_samples:
                with Gradebook(db_url) as gradebook:
                    gradebook.remove_assignment(exercise)
    with Gradebook(db_url) as gradebook:
        gradebook.update_or_create_assignment(exercise)
    resources = {"nbgrader": {"notebook": exercise, "assignment": exercise, "db_url": db_url}}
    notebook = nbformat.from_dict(json.loads(json.dumps(release)))
    try:
        SaveCells().preprocess(notebook, resources)
    except RuntimeError as error:
        raise CatalogueError(
            f"{exercise}: cells were added or removed since submissions were graded, which nbgrader's "
            "gradebook cannot take. To drop a question, keep its cell and set its points and those of "
            "its lines to 0."
        ) from error


class Course:
    """The course's nbgrader folders, as one object that grades.

    submitted: where submissions lie, if not under course/submitted; home: where everything that
    grading writes goes, if not to course/.
    """

    def __init__(self, submitted: Path | None = None, home: Path = COURSE) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.config = nbgrader_config()
        own = self.config.CourseDirectory
        own.submitted_directory = str((submitted or home / "submitted").resolve())
        own.autograded_directory = str(home / "autograded")
        own.feedback_directory = str(home / "feedback")
        own.db_url = self.db_url = f"sqlite:///{home}/gradebook.db"
        self.submitted = Path(own.submitted_directory)

    def folder(self, kind: str, student: str, exercise: str) -> Path:
        """Where a student's submitted, autograded or feedback files of an exercise lie."""
        root = self.submitted if kind == "submitted" else self.home / kind
        return root / student / exercise

    def graded_notebook(self, student: str, exercise: str) -> Path:
        """The autograded copy of a submission."""
        return self.folder("autograded", student, exercise) / f"{exercise}.ipynb"

    def students(self, exercise: str) -> list[str]:
        """The students who have a folder for an exercise, in order."""
        if not self.submitted.is_dir():
            return []
        return sorted(
            entry.name
            for entry in self.submitted.iterdir()
            if not entry.name.startswith(".") and os.path.lexists(entry / exercise)
        )

    def prepare(self, exercise: str, rerelease: bool = False, new_seed: bool = False) -> None:
        """Everything that can go wrong on the instructor's side, before any student is graded."""
        register(exercise, self.db_url, rerelease)
        class_seed(exercise, self.home, new_seed)
        expected_values(exercise, self.home)

    def is_current(self, student: str, exercise: str) -> bool:
        """Whether a submission has been graded as it is, by the exercise and grader as they are."""
        submitted = self.folder("submitted", student, exercise) / f"{exercise}.ipynb"
        try:
            notebook = nbformat.read(self.graded_notebook(student, exercise), as_version=4)
            record = notebook.metadata.autotest
            digest = read_submission(find_notebook(submitted))[2]
            return record.graded == grader_digest(exercise) and record.submission == digest
        except Exception:
            return False

    def _converter(self, kind: type, student: str, exercise: str) -> Any:
        self.config.CourseDirectory.assignment_id = exercise
        self.config.CourseDirectory.student_id = student
        converter = kind(coursedir=PlainTimestamps(config=self.config), config=self.config)
        converter.log.setLevel(logging.CRITICAL)
        return converter

    def grade(self, student: str, exercise: str) -> None:
        """Grade one submission into the gradebook and the autograded folder."""
        converter = self._converter(ClassAutograde, student, exercise)
        folder = self.folder("submitted", student, exercise)
        # a missing notebook is graded too: nbgrader would find nothing to do
        converter.init_notebooks = lambda: None
        converter.assignments = {str(folder): [str(folder / f"{exercise}.ipynb")]}
        try:
            converter.start()
        except NbGraderException:
            raise converter.instructors_error or CatalogueError(
                f"{folder}: nbgrader could not record this submission; is {student!r} a name it accepts?"
            ) from None

    def write_feedback(self, student: str, exercise: str) -> Path:
        """Write one student's feedback page, if it is older than the grade; returns its path."""
        page = self.folder("feedback", student, exercise) / f"{exercise}.html"
        graded = self.graded_notebook(student, exercise)
        if not page.exists() or page.stat().st_mtime < graded.stat().st_mtime:
            converter = self._converter(GenerateFeedback, student, exercise)
            converter.force = True
            converter.start()
        return page

    def result(self, student: str, exercise: str) -> dict:
        """One student's result: {"student", "exercise", "score", "points", "remarks", "cells"}."""
        notebook = nbformat.read(self.graded_notebook(student, exercise), as_version=4)
        cells = {
            cell.metadata.nbgrader.grade_id: results_of(cell)
            for cell in notebook.cells
            if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
        }
        lines = [line for found in cells.values() for line in found]
        return {
            "student": student,
            "exercise": exercise,
            "score": sum(line["earned"] for line in lines),
            "points": sum(line["points"] for line in lines),
            "remarks": list(notebook.metadata.autotest.get("remarks", [])),
            "cells": cells,
        }


def grade_class(
    course: Course,
    exercises: Sequence[str] | None = None,
    rerelease: bool = False,
    new_seed: bool = False,
) -> list[dict]:
    """Grade every submission that isn't graded yet as it is; returns all results.

    Raises CatalogueError for an instructor's error, before any student is graded.
    """
    work, stale = [], set()
    for exercise in exercises or exercise_names():
        if course.students(exercise):
            register(exercise, course.db_url, rerelease)
            class_seed(exercise, course.home, new_seed)
        for student in course.students(exercise):
            work.append((student, exercise))
            if new_seed or rerelease or not course.is_current(student, exercise):
                stale.add((student, exercise))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        needed = sorted({exercise for _, exercise in stale})
        list(pool.map(lambda exercise: expected_values(exercise, course.home), needed))
    results = []
    with progress("Grading") as bar:
        task = bar.add_task("", total=len(work))
        for student, exercise in work:
            bar.update(task, description=f"{student} {exercise}")
            if (student, exercise) in stale:
                course.grade(student, exercise)
            results.append(course.result(student, exercise))
            bar.advance(task)
    return results


def write_feedback(course: Course, results: Sequence[dict]) -> None:
    """Write the feedback pages that are older than their grades."""
    with progress("Writing feedback") as bar:
        for result in bar.track(results):
            course.write_feedback(result["student"], result["exercise"])
