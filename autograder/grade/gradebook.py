"""Writing results into nbgrader's gradebook, and into the autograded folder beside it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbformat import NotebookNode

from autograder import nbgrader_adapter
from autograder.build.released_versions import remember_released
from autograder.course import SAMPLE_PREFIX, Course, Exercise
from autograder.errors import ExerciseError, GradebookError, writing
from autograder.exercises import copied, is_grade_cell, metadata_of, released
from autograder.files import PRIVATE_READ_ONLY, close_to_others, write_whole
from autograder.grade import resubmissions
from autograder.grade.changes import Change
from autograder.grade.examine import Graded
from autograder.grade.exercise_words import words_of
from autograder.grade.lateness import penalty
from autograder.grade.read_gradebook import opened
from autograder.grade.result import Result
from autograder.grade.verdicts import result_path, show_verdicts
from autograder.grade.words import Words
from autograder.nbgrader_adapter import Transactions, explained, make_private
from autograder.runtime.grade_cell import parse_cell

if TYPE_CHECKING:
    from nbgrader.api import Comment, Grade, Gradebook, SubmittedAssignment, SubmittedNotebook


def check_release(exercise: Exercise, release: NotebookNode, gradebook: Gradebook) -> None:
    """Refuse to grade when the gradebook's exercise isn't the released one: they must never mix."""
    stored = gradebook.find_notebook(exercise.name, exercise.name)
    sources = {cell.name: cell.source for cell in stored.source_cells}
    points = {cell.name: cell.max_score for cell in stored.grade_cells}
    answers = {cell.name for cell in stored.solution_cells}
    for cell in release.cells:
        if metadata_of(cell).get("solution") and metadata_of(cell).grade_id not in answers:
            raise _another_version(exercise, metadata_of(cell).grade_id)
        if not metadata_of(cell).get("grade"):
            continue
        name = metadata_of(cell).grade_id
        # a question that is answered in words may be worded anew, but not be worth other points
        same = not is_grade_cell(cell) or (
            name in sources and parse_cell(sources[name]).asks() == parse_cell(cell.source).asks()
        )
        if not same or points.get(name) != metadata_of(cell).points:
            raise _another_version(exercise, name)


def _another_version(exercise: Exercise, cell: str) -> ExerciseError:
    return ExerciseError(
        f"{exercise.name}, cell {cell}, is not the one that the gradebook knows: the exercise "
        "has changed since it was handed out. Restore the released version under exercises/, or "
        "run `python -m autograder grade --rerelease` to grade everybody by the new one; with "
        "--changed in place of --rerelease you first see who would gain or lose points."
    )


def refuse_mixed_versions(course: Course, exercise: Exercise, results: Sequence[Result]) -> None:
    """Refuse to tell grades while some are of an older version: grading by the new one was interrupted.

    results: recorded ones, also of other exercises. Raises GradebookError when those of the exercise don't
    answer what the gradebook's version of it asks.
    """
    from nbgrader.api import MissingEntry

    own = [result for result in results if result.exercise == exercise.name]
    with opened(course) as gradebook:
        if gradebook is None:
            return
        try:
            stored = gradebook.find_notebook(exercise.name, exercise.name)
        except MissingEntry:
            return
        checks = {cell.name for cell in stored.grade_cells if cell.cell_type == "code"}
        sources = {cell.name: cell.source for cell in stored.source_cells if cell.name in checks}
    asked = {
        name: [(check.expression, check.points) for check in parse_cell(source).checks]
        for name, source in sources.items()
    }
    before = [
        result.student
        for result in own
        if asked
        != {
            cell.grade_id: [(line.expression, line.points) for line in cell.lines]
            for cell in result.cells
        }
    ]
    if before:
        raise GradebookError(
            f"{exercise.name}: {len(before)} of {len(own)} submissions are still graded by an older version "
            "of the exercise. Run `python -m autograder grade`, which grades them by the new one."
        )


def register(course: Course, exercise: Exercise, rerelease: bool = False) -> bool:
    """Make the released exercise known to the gradebook, or check that it is the one it knows.

    Returns whether the gradebook knows another one now than before. rerelease: replace the one that it
    knows. Raises ExerciseError when the exercise has changed since submissions to it were graded.
    """
    from nbgrader.api import Gradebook, MissingEntry

    release = released(exercise)
    remember_released(exercise, release)
    name, url = exercise.name, course.db_url
    make_private(url)
    with explained(url), Gradebook(url) as gradebook:
        only_samples = True
        with contextlib.suppress(MissingEntry):
            assignment = gradebook.find_assignment(name)
            # one without notebooks is an extension of a student who has not handed in
            handed_in = [s.student.id for s in assignment.submissions if s.notebooks]
            only_samples = not handed_in or (
                course.is_sample_class
                and all(student.startswith(SAMPLE_PREFIX) for student in handed_in)
            )
            try:
                check_release(exercise, release, gradebook)
                return False
            except ExerciseError:
                if not (rerelease or only_samples):
                    raise
                if only_samples:
                    # the due date and extensions stay
                    for student in handed_in:
                        gradebook.remove_submission(name, student)
                    for notebook in list(assignment.notebooks):
                        gradebook.remove_notebook(notebook.name, name)
        gradebook.update_or_create_assignment(name)
    with explained(url):
        try:
            nbgrader_adapter.save_cells(name, url, copied(release))
        except RuntimeError as error:
            raise ExerciseError(
                f"{name}: cells for answers or checks were added or removed since submissions were graded, which "
                "nbgrader's gradebook cannot take. To drop a question, keep its cell and set its points and those "
                "of its lines to 0."
            ) from error
    return True


class _EarlierIsBetterError(Exception):
    """A submission that is worth less than the one before: what was written of it is taken back."""


class Recorder:
    """Writes graded submissions of a class, each all or nothing. A context manager."""

    def __init__(self, course: Course) -> None:
        # results of students whose new submission got fewer points than the one before
        self.fallen: list[Result] = []
        # submissions that were graded before by other rules
        self.regraded: list[Change] = []
        self._course = course
        # what an earlier version has written was open to all who can reach it
        close_to_others(course.autograded, course.feedback, course.home / "reports")
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
        handed_in = self._handed_in(result)
        path = autograded_notebook(self._course, result.student, result.exercise)
        earlier = resubmissions.earlier(path, result)
        same = resubmissions.by_other_rules(path, result)
        try:
            with self._transactions.begin() as gradebook:
                before = self._total(gradebook, result) if earlier else 0.0
                self._write_grades(gradebook, graded, handed_in, create_student)
                keep = earlier is not None and self._course.settings.keep_best
                if keep and self._total(gradebook, result) < before:
                    raise _EarlierIsBetterError
        except _EarlierIsBetterError:
            assert earlier is not None
            result = resubmissions.kept(earlier, result)
            self.fallen.append(result)
            if same:
                self.regraded.append(Change(same, result))
            result.write(result_path(path))
            return
        if same:
            self.regraded.append(Change(same, result))
        result = resubmissions.with_remark(path, earlier, result)
        if earlier and resubmissions.has(result, resubmissions.FELL):
            self.fallen.append(result)
        notebook = copied(graded.notebook)
        show_verdicts(notebook, result, self._words_of(result.exercise))
        with writing(result_path(path)):
            result_path(path).unlink(missing_ok=True)
        write_whole(path, nbformat.writes(notebook) + "\n", mode=PRIVATE_READ_ONLY)
        result.write(result_path(path))

    def _total(self, gradebook: Gradebook, result: Result) -> float:
        """What a submission is worth in the gradebook, after lateness; 0 where there is none."""
        from nbgrader.api import MissingEntry

        try:
            found = gradebook.find_submission_notebook(
                result.exercise, result.exercise, result.student
            )
        except MissingEntry:
            return 0.0
        return found.score - (found.late_submission_penalty or 0.0)

    def record_again(self, result: Result, notebook: NotebookNode) -> None:
        """Write the grades of a stored result, whose graded notebook is given, into the gradebook."""
        with self._transactions.begin() as gradebook:
            handed_in = self._handed_in(result)
            self._write_grades(gradebook, Graded(result, notebook), handed_in, create_student=True)

    def _handed_in(self, result: Result) -> datetime | None:
        """When a submission was handed in; None if that isn't known."""
        folder = self._course.submitted / result.student / result.exercise
        try:
            return nbgrader_adapter.timestamp(folder)
        except ValueError:
            # a remark in the result says so
            return None

    def _words_of(self, exercise: str) -> Words:
        if exercise not in self._words:
            self._words[exercise] = words_of(self._course.exercise(exercise))
        return self._words[exercise]

    def _write_grades(
        self,
        gradebook: Gradebook,
        graded: Graded,
        handed_in: datetime | None,
        create_student: bool,
    ) -> None:
        from nbgrader.api import MissingEntry

        result = graded.result
        student, exercise = result.student, result.exercise
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
        submission = _submission(gradebook, exercise, student, handed_in)
        notebook = gradebook.find_submission_notebook(exercise, exercise, student)
        grades, comments = of_cells(gradebook, notebook)
        checked = {cell.grade_id: cell for cell in result.cells}
        read = _ReadByHand(autograded_notebook(self._course, student, exercise))
        for cell in graded.notebook.cells:
            own = metadata_of(cell)
            if own.get("grade"):
                grade = grades[own.grade_id]
                before = grade.auto_score
                doubtful = False
                if is_grade_cell(cell) and own.grade_id in checked:
                    grade.auto_score = checked[own.grade_id].earned
                    doubtful = result.is_for_a_person and not checked[own.grade_id].passed
                elif result.is_to_be_read(own.grade_id):
                    grade.auto_score = None
                else:
                    grade.auto_score = nbgrader_adapter.written_score(cell)
                if grade.manual_score is None:
                    grade.needs_manual_grade = doubtful or grade.auto_score is None
                elif grade.auto_score != before or not read.is_same(cell):
                    # points given by hand stay, to be looked at again
                    grade.needs_manual_grade = True
            if own.get("solution"):
                untouched = nbgrader_adapter.is_untouched(cell)
                untouched &= not result.is_to_be_read(own.grade_id)
                comments[own.grade_id].auto_comment = "No response." if untouched else None
        gradebook.db.commit()
        notebook.late_submission_penalty = penalty(self._course, submission, notebook)
        gradebook.db.commit()


class _ReadByHand:
    """What somebody has read who gave points by hand: the graded copy of a submission, if there is one.

    It is opened only if it is asked for: most submissions have no points given by hand.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @functools.cached_property
    def _cells(self) -> dict[str, NotebookNode]:
        try:
            notebook = nbformat.read(self._path, as_version=4)
        except FileNotFoundError:
            return {}
        return {metadata_of(cell).grade_id: cell for cell in notebook.cells if metadata_of(cell)}

    def is_same(self, cell: NotebookNode) -> bool:
        """Whether a cell is worth the same points as it was and, if it is a written answer, has its text."""
        old = self._cells.get(metadata_of(cell).grade_id)
        if old is None or metadata_of(old).get("points") != metadata_of(cell).points:
            return False
        return is_grade_cell(cell) or old.source == cell.source


def _submission(
    gradebook: Gradebook, exercise: str, student: str, handed_in: datetime | None
) -> SubmittedAssignment:
    """A student's submission in the gradebook, with all of its cells."""
    from nbgrader.api import MissingEntry

    kept = {"timestamp": handed_in} if handed_in else {}
    with contextlib.suppress(MissingEntry):
        found = gradebook.find_submission(exercise, student)
        if not found.notebooks:
            # an extension that was given before the student handed in
            kept["extension"] = found.extension
            gradebook.remove_submission(exercise, student)
    return gradebook.update_or_create_submission(exercise, student, **kept)


def of_cells(
    gradebook: Gradebook, notebook: SubmittedNotebook
) -> tuple[dict[str, Grade], dict[str, Comment]]:
    """A submitted notebook's grades and comments by the names of their cells, with one question each."""
    from nbgrader.api import BaseCell, Comment, Grade

    grades, comments = (
        dict(
            gradebook.db.query(BaseCell.name, kind)
            .select_from(kind)
            .join(BaseCell, kind.cell_id == BaseCell.id)
            .filter(kind.notebook_id == notebook.id)
        )
        for kind in (Grade, Comment)
    )
    return grades, comments


def autograded_notebook(course: Course, student: str, exercise: str) -> Path:
    """The graded copy of a submission."""
    return course.autograded / student / exercise / f"{exercise}.ipynb"


def stored_result(course: Course, student: str, exercise: str) -> Result | None:
    """A student's recorded result, or None when there is none. ResultError when it can't be read."""
    try:
        return Result.read(result_path(autograded_notebook(course, student, exercise)))
    except FileNotFoundError:
        return None
