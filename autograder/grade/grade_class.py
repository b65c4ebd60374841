"""Grading a class: every submission ends with a recorded score and a reason, whatever it holds."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveCells
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Task as ProgressTask
from rich.text import Text

from autograder.audit.sample_class import SAMPLE_PREFIX
from autograder.build.generate import COURSE, nbgrader_config, released
from autograder.build.released_versions import remember_released
from autograder.catalogue import exercise_names
from autograder.errors import ExerciseError, GradebookError, WorkerPoolError
from autograder.grade.answer_key import class_seed, grader_digest, paper
from autograder.grade.examine import examined, refused, results_of
from autograder.grade.gradebook import PlainTimestamps, Recorder, check_address, explained
from autograder.grade.nbgrader_steps import SealedExecute
from autograder.grade.sanitize import check_release
from autograder.grade.submission import Submission, companions, read_submission
from autograder.grade.worker_pool import Crew, LocalCrew, Task, examine_all
from autograder.kernels import sandbox
from autograder.kernels.student_kernel import KernelStartError
from autograder.text import valid_text

STEPS = ("submitted", "autograded", "feedback")
KILLER = (
    "Grading this submission ended the grader's own process twice, so it was given up. Your instructor "
    "will look at it."
)


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: ProgressTask) -> Text:
        """The rate, once it is known."""
        return Text(f"{task.speed:.1f}/s" if task.speed else "")


def progress(title: str) -> Progress:
    """A progress bar on the terminal, with rate and time left; on stderr, so that JSON stays JSON."""
    columns = (
        TextColumn(f"{title:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=Console(stderr=True))


def find_notebook(path: Path) -> Path:
    """The notebook of a submission: the one of the exercise's name, or the only one there is."""
    others = sorted(path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
    return others[0] if not os.path.lexists(path) and len(others) == 1 else path


def register(exercise: str, db_url: str, rerelease: bool = False) -> None:
    """Make the released exercise known to the gradebook, or check that it is the one it knows.

    Raises ExerciseError when the exercise has changed since submissions to it were graded.
    """
    release = released(exercise)
    remember_released(exercise, release)
    with explained(db_url):
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
            except ExerciseError:
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
            raise ExerciseError(
                f"{exercise}: cells were added or removed since submissions were graded, which nbgrader's "
                "gradebook cannot take. To drop a question, keep its cell and set its points and those of "
                "its lines to 0."
            ) from error


class Course:
    """The course's nbgrader folders, as one object that grades.

    Folders and database are those of nbgrader_config.py, so that nbgrader's own commands use the same.

    submitted: another folder of submissions; db: address of another database for the gradebook; home:
    a folder for everything that grading reads and writes, in place of what nbgrader_config.py says.
    Raises GradebookError when the address is not one of a database.
    """

    def __init__(
        self, submitted: Path | None = None, home: Path | None = None, db: str | None = None
    ) -> None:
        self.home = home or COURSE
        self.home.mkdir(parents=True, exist_ok=True)
        self.config = nbgrader_config()
        own = self.config.CourseDirectory
        if home is not None:
            for step in STEPS:
                own[f"{step}_directory"] = str(home.resolve() / step)
            own.db_url = f"sqlite:///{home}/gradebook.db"
        if submitted is not None:
            own.submitted_directory = str(submitted.resolve())
        if db is not None:
            own.db_url = db
        directory = CourseDirectory(config=self.config)
        self.db_url = directory.db_url
        check_address(self.db_url)
        self._folders = {
            step: Path(directory.root, getattr(directory, f"{step}_directory")) for step in STEPS
        }
        self.submitted = self._folders["submitted"]
        self.limits = SealedExecute(config=self.config).limits()
        self._papers: dict[str, dict] = {}
        self._recorder: Recorder | None = None

    def folder(self, kind: str, student: str, exercise: str) -> Path:
        """Where a student's submitted, autograded or feedback files of an exercise lie."""
        return self._folders[kind] / student / exercise

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
        self.paper(exercise)

    def paper(self, exercise: str) -> dict:
        """What grading an exercise in this class needs."""
        if exercise not in self._papers:
            self._papers[exercise] = paper(exercise, self.home)
        return self._papers[exercise]

    def submission(self, student: str, exercise: str) -> Submission:
        """What a student has handed in, read with care; its digest covers all of it."""
        wanted = self.folder("submitted", student, exercise) / f"{exercise}.ipynb"
        path = find_notebook(wanted)
        found = read_submission(path)
        if path != wanted:
            found.remarks.append(
                f"The notebook was named {valid_text(path.name)}; its name should be {wanted.name}."
            )
        if not PlainTimestamps.is_readable(path.parent):
            found.remarks.append("The time stamp of this submission can't be read.")
        if found.cells:
            found.companions, remarks = companions(path.parent, path.name)
            found.remarks += remarks
        digest = hashlib.sha256(found.digest.encode())
        for name, content in found.companions.items():
            digest.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
        found.digest = digest.hexdigest()
        return found

    def is_current(self, student: str, exercise: str, digest: str) -> bool:
        """Whether a submission has been graded as it is, by the exercise and grader as they are."""
        try:
            record = self._graded(student, exercise).metadata.autotest
        except Exception:
            return False
        return record.graded == grader_digest(exercise) and record.submission == digest

    def _graded(self, student: str, exercise: str) -> NotebookNode:
        text = self.graded_notebook(student, exercise).read_text(encoding="utf-8")
        return nbformat.from_dict(json.loads(text))

    def grade(self, student: str, exercise: str) -> None:
        """Examine one submission here, and record it."""
        found = self.submission(student, exercise)
        self.record(student, exercise, examined(self.paper(exercise), found, self.limits))

    def record(self, student: str, exercise: str, graded: NotebookNode) -> None:
        """Write an examined submission into the gradebook and the autograded folder."""
        if self._recorder is None:
            coursedir = PlainTimestamps(config=self.config)
            self._recorder = Recorder(coursedir=coursedir, config=self.config)
        self._recorder.record(student, exercise, graded)

    def write_feedback(self, student: str, exercise: str) -> Path:
        """Write one student's feedback page, if it is older than the grade; returns its path."""
        page = self.folder("feedback", student, exercise) / f"{exercise}.html"
        graded = self.graded_notebook(student, exercise)
        if not page.exists() or page.stat().st_mtime < graded.stat().st_mtime:
            self.config.CourseDirectory.assignment_id = exercise
            self.config.CourseDirectory.student_id = student
            coursedir = PlainTimestamps(config=self.config)
            converter = GenerateFeedback(coursedir=coursedir, config=self.config)
            converter.log.setLevel(logging.CRITICAL)
            converter.force = True
            converter.start()
        return page

    def result(self, student: str, exercise: str) -> dict:
        """One student's recorded result (see `result_of`)."""
        return result_of(student, exercise, self._graded(student, exercise))


def result_of(student: str, exercise: str, notebook: NotebookNode) -> dict:
    """What an examined notebook got: {"student", "exercise", "score", "points", "remarks", "cells"}."""
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


@dataclass(frozen=True)
class Means:
    """Who examines: so many processes here (by default one a core), or a Dask cluster's workers.

    require_sandbox: refuse to run submissions that have no room of their own.
    """

    workers: int | None = None
    scheduler: str | None = None
    require_sandbox: bool = False

    def crew(self, course: Course, papers: dict[str, dict]) -> AbstractContextManager[Crew]:
        """Those who examine, ready to begin."""
        if self.scheduler:
            # takes a second to import, and only this needs it
            from autograder.grade.dask_pool import ClusterCrew

            return ClusterCrew(self.scheduler, papers, course.limits, self.require_sandbox)
        if not course.limits.room:
            sandbox.warn(sandbox.why_not(), self.require_sandbox)
        return LocalCrew(papers, course.limits, self.workers)


def classes(course: Course, exercises: Sequence[str] | None) -> dict[str, list[str]]:
    """The students who have handed in each exercise; exercises that nobody has are left out."""
    found = {name: course.students(name) for name in exercises or exercise_names()}
    return {name: students for name, students in found.items() if students}


def stale(course: Course, handed_in: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Those (student, exercise) that are not graded as they are, by exercise and grader as they are."""
    return [
        (student, exercise)
        for exercise, students in handed_in.items()
        for student in students
        if not course.is_current(student, exercise, course.submission(student, exercise).digest)
    ]


def _task(course: Course, student: str, exercise: str, console: Console) -> Task:
    """A submission to examine; the instructor is told if this account may not read it."""
    found = course.submission(student, exercise)
    if found.refused:
        place = course.folder("submitted", student, exercise)
        console.print(
            f"{place}: the notebook can't be read from this account ({found.refused}) and gets 0. Make it "
            "readable and grade again.",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )
    return Task(student, exercise, found)


def examine(
    course: Course, work: Sequence[tuple[str, str]], means: Means, title: str
) -> Iterator[tuple[str, str, NotebookNode]]:
    """Examine submissions, with a progress bar; yields (student, exercise, notebook) as they come."""
    needed = sorted({exercise for _, exercise in work})
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        papers = dict(zip(needed, pool.map(course.paper, needed), strict=True))
    if not work:
        return
    with means.crew(course, papers) as crew, progress(title) as bar:
        tasks = (_task(course, student, name, bar.console) for student, name in work)
        shown = bar.add_task("", total=len(work))
        try:
            for task, notebook in examine_all(tasks, crew):
                done = notebook or refused(papers[task.exercise], task.submission, KILLER)
                yield task.student, task.exercise, done
                bar.update(shown, advance=1, description=f"{task.student} {task.exercise}")
        except KernelStartError as error:
            raise WorkerPoolError(
                f"A kernel for students' code can't be started: {error}. What was recorded before is kept; "
                "mend this and run the command again to go on."
            ) from error


def grade_class(
    course: Course,
    exercises: Sequence[str] | None = None,
    rerelease: bool = False,
    new_seed: bool = False,
    means: Means = Means(),
) -> list[dict]:
    """Grade every submission that isn't graded yet as it is; returns all results.

    Args:
        course: where submissions, gradebook and results lie.
        exercises: their names, by default all.
        rerelease: the exercises have changed; grade everybody by the new ones.
        new_seed: draw other inputs and grade everybody again.
        means: who examines.

    Raises:
        CourseError: an instructor's error, found before any student is graded.
    """
    handed_in = classes(course, exercises)
    for exercise in handed_in:
        register(exercise, course.db_url, rerelease)
        class_seed(exercise, course.home, new_seed)
    everybody = [(student, name) for name, students in handed_in.items() for student in students]
    work = everybody if new_seed or rerelease else stale(course, handed_in)
    for student, exercise, notebook in examine(course, work, means, "Grading"):
        course.record(student, exercise, notebook)
    return [course.result(student, exercise) for student, exercise in everybody]


def write_feedback(course: Course, results: Sequence[dict]) -> None:
    """Write the feedback pages that are older than their grades.

    Raises GradebookError, after all others are written, when one can't be written.
    """
    failed = []
    with progress("Writing feedback") as bar:
        for result in bar.track(results):
            try:
                course.write_feedback(result["student"], result["exercise"])
            except NbGraderException:
                failed.append(f"{result['student']} ({result['exercise']})")
    if failed:
        raise GradebookError(
            f"These feedback pages could not be written: {', '.join(failed)}. All others are written. To "
            "see why, run `nbgrader generate_feedback EXERCISE --student STUDENT --force`."
        )
