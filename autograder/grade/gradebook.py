"""Writing results into nbgrader's gradebook, and into the autograded folder beside it."""

from __future__ import annotations

import contextlib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbformat import NotebookNode

from autograder import nbgrader_adapter
from autograder.build.released_versions import remember_released
from autograder.course import SAMPLE_PREFIX, Course, Exercise
from autograder.errors import ExerciseError, GradebookError, writing
from autograder.exercises import copied, given, is_grade_cell, released
from autograder.files import write_whole
from autograder.grade.examine import Graded
from autograder.grade.result import Result
from autograder.grade.verdicts import result_path, show_verdicts
from autograder.grade.words import Words
from autograder.nbgrader_adapter import Transactions, explained
from autograder.runtime.grade_cell import parse_cell

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

READ_ONLY = 0o444


def check_release(exercise: Exercise, release: NotebookNode, gradebook: Gradebook) -> None:
    """Refuse to grade when the gradebook's exercise isn't the released one: they must never mix."""
    stored = gradebook.find_notebook(exercise.name, exercise.name)
    sources = {cell.name: cell.source for cell in stored.source_cells}
    points = {cell.name: cell.max_score for cell in stored.grade_cells}
    for cell in filter(is_grade_cell, release.cells):
        name = given(cell).grade_id
        same = (
            name in sources and parse_cell(sources[name]).asks() == parse_cell(cell.source).asks()
        )
        if not same or points.get(name) != given(cell).points:
            raise ExerciseError(
                f"{exercise.name}, cell {name}, is not the one that the gradebook knows: the exercise "
                "has changed since it was handed out. Restore the released version under exercises/, or "
                "run `python -m autograder grade --rerelease` to grade everybody by the new one."
            )


def register(course: Course, exercise: Exercise, rerelease: bool = False) -> None:
    """Make the released exercise known to the gradebook, or check that it is the one it knows.

    rerelease: replace the one that it knows. Raises ExerciseError when the exercise has changed since
    submissions to it were graded.
    """
    from nbgrader.api import Gradebook, MissingEntry

    release = released(exercise)
    remember_released(exercise, release)
    name, url = exercise.name, course.db_url
    with explained(url), Gradebook(url) as gradebook:
        only_samples = True
        with contextlib.suppress(MissingEntry):
            submissions = gradebook.find_assignment(name).submissions
            only_samples = all(s.student.id.startswith(SAMPLE_PREFIX) for s in submissions)
            try:
                check_release(exercise, release, gradebook)
                return
            except ExerciseError:
                if not (rerelease or only_samples):
                    raise
                if only_samples:
                    gradebook.remove_assignment(name)
        gradebook.update_or_create_assignment(name)
    with explained(url):
        try:
            nbgrader_adapter.save_cells(name, url, copied(release))
        except RuntimeError as error:
            raise ExerciseError(
                f"{name}: cells were added or removed since submissions were graded, which nbgrader's "
                "gradebook cannot take. To drop a question, keep its cell and set its points and those "
                "of its lines to 0."
            ) from error


class Recorder:
    """Writes graded submissions of a class, each all or nothing. A context manager."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._transactions = Transactions(course.db_url)
        self._words: dict[str, Words] = {}

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._transactions.close()

    def record(self, graded: Graded, create_student: bool = True) -> None:
        """Write a submission's grades, then its notebook, then its result.

        The result comes last: where it is missing, the submission is graded again. create_student: a
        student whom the gradebook doesn't know is added, else GradebookError is raised.
        """
        result = graded.result
        folder = self._course.submitted / result.student / result.exercise
        try:
            handed_in = nbgrader_adapter.timestamp(folder)
        except ValueError:
            # a remark in the result says so
            handed_in = None
        with self._transactions.begin() as gradebook:
            self._write_grades(gradebook, graded, handed_in, create_student)
        notebook = copied(graded.notebook)
        show_verdicts(notebook, result, self._words_of(result.exercise))
        path = autograded_notebook(self._course, result.student, result.exercise)
        with writing(result_path(path)):
            result_path(path).unlink(missing_ok=True)
        write_whole(path, nbformat.writes(notebook) + "\n", mode=READ_ONLY)
        result.write(result_path(path))

    def _words_of(self, exercise: str) -> Words:
        if exercise not in self._words:
            self._words[exercise] = Words.of(self._course.exercise(exercise))
        return self._words[exercise]

    def _write_grades(
        self,
        gradebook: Gradebook,
        graded: Graded,
        handed_in: datetime | None,
        create_student: bool,
    ) -> None:
        from nbgrader.api import MissingEntry

        student, exercise = graded.result.student, graded.result.exercise
        if create_student:
            gradebook.update_or_create_student(student)
        else:
            try:
                gradebook.find_student(student)
            except MissingEntry as error:
                raise GradebookError(
                    f"The gradebook knows no student {student}: add them with `nbgrader db student add "
                    f"{student}`, or grade with --create."
                ) from error
        times = {"timestamp": handed_in} if handed_in else {}
        submission = gradebook.update_or_create_submission(exercise, student, **times)
        earned = {cell.grade_id: cell.earned for cell in graded.result.cells}
        for cell in graded.notebook.cells:
            own = given(cell)
            place = (own.get("grade_id"), exercise, exercise, student)
            if own.get("grade"):
                grade = gradebook.find_grade(*place)
                if is_grade_cell(cell) and own.grade_id in earned:
                    grade.auto_score = earned[own.grade_id]
                else:
                    grade.auto_score = nbgrader_adapter.written_score(cell)
                # points given by hand stay, to be looked at again
                grade.needs_manual_grade = (
                    grade.manual_score is not None or grade.auto_score is None
                )
            if own.get("solution"):
                untouched = nbgrader_adapter.is_untouched(cell)
                comment = gradebook.find_comment(*place)
                comment.auto_comment = "No response." if untouched else None
        gradebook.db.commit()
        notebook = gradebook.find_submission_notebook(exercise, exercise, student)
        notebook.late_submission_penalty = None
        seconds = submission.total_seconds_late
        if seconds > 0:
            notebook.late_submission_penalty = nbgrader_adapter.late_penalty(
                self._course.config, student, notebook.score, seconds
            )
        gradebook.db.commit()


def autograded_notebook(course: Course, student: str, exercise: str) -> Path:
    """The graded copy of a submission."""
    return course.autograded / student / exercise / f"{exercise}.ipynb"


def stored_result(course: Course, student: str, exercise: str) -> Result | None:
    """A student's recorded result, or None when there is none. ResultError when it can't be read."""
    try:
        return Result.read(result_path(autograded_notebook(course, student, exercise)))
    except FileNotFoundError:
        return None
