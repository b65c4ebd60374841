"""Comments on written answers that an instructor keeps and uses again.

They stand in solutions/comments/EXERCISE.csv, a few for each question, each with a key. Wherever a comment
is written, in formgrader or in a CSV file of marks, `/key` stands for its text. It is replaced in the
gradebook, so that a later change to the list changes nothing that a student has been told.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from traitlets import Unicode

from autograder.course import Course, Exercise
from autograder.errors import CourseError, GradebookError, TableError
from autograder.exercises import metadata_of, released
from autograder.grade.class_grades import own_grades, ranks
from autograder.grade.groups import read_groups
from autograder.nbgrader_adapter import gradebook_exists, transaction
from autograder.points import as_shown
from autograder.tables import read_csv
from autograder.text import as_markdown

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

KEY = re.compile(r"[a-z0-9][\w-]*")
# a key as it is typed: at the beginning of a word, so that and/or is none
TYPED = re.compile(r"(?<!\S)/([a-z0-9][\w-]*)")
LIST_COLUMNS = ("question", "key", "points", "comment")
MARK_COLUMNS = ("student", "question", "points", "comment")


@dataclass(frozen=True)
class KeptComment:
    """A comment to use again. points: what it adds to full marks, mostly negative; None: nothing said."""

    question: str
    key: str
    points: float | None
    text: str

    def __str__(self) -> str:
        points = "" if self.points is None else f" ({as_shown(self.points):+})"
        return f"/{self.key}{points}: {self.text}"


@dataclass(frozen=True)
class Mark:
    """What is given for one answer. points: None leaves them to the comments; line: in its file."""

    student: str
    question: str
    points: float | None
    comment: str
    line: int


@dataclass(frozen=True)
class Written:
    """A comment with its keys replaced.

    points: what its kept comments add to full marks, None if none of them says; slips: keys that there
    are not, each with one that is alike.
    """

    text: str
    points: float | None
    slips: Mapping[str, str]


# The list -------------------------------------------------------------------------------------


def written_questions(exercise: Exercise) -> dict[str, float]:
    """The questions of an exercise that are answered in words, with their points. Raises ExerciseError."""
    return {
        metadata_of(cell).grade_id: float(metadata_of(cell).points)
        for cell in released(exercise).cells
        if cell.cell_type == "markdown" and metadata_of(cell).get("grade")
    }


def list_file(exercise: Exercise) -> Path:
    """Where the comments of an exercise stand."""
    return exercise.root / "solutions" / "comments" / f"{exercise}.csv"


def kept_comments(exercise: Exercise) -> list[KeptComment]:
    """The comments of an exercise, in the order of its list; none without a list. Raises TableError."""
    path = list_file(exercise)
    if not path.exists():
        return []
    questions = written_questions(exercise)
    found: dict[tuple[str, str], KeptComment] = {}
    for number, row in read_csv(path, LIST_COLUMNS):
        place = f"{path}, line {number}"
        question, key = row["question"], row["key"].removeprefix("/")
        _check_question(place, question, questions)
        if not KEY.fullmatch(key):
            raise TableError(
                f"{place}: {key!r} is no key. A key is one word of small letters, digits and hyphens."
            )
        if (question, key) in found:
            raise TableError(f"{place}: {question} has a comment {key} above. Give it another key.")
        if not row["comment"]:
            raise TableError(f"{place}: there is no comment.")
        if typed := TYPED.search(row["comment"]):
            raise TableError(
                f"{place}: {typed[0]} would be taken for a key. Write it without the "
                "slash, or without the space before it."
            )
        found[question, key] = KeptComment(
            question, key, _points(place, row["points"]), row["comment"]
        )
    return list(found.values())


def _check_question(place: str, question: str, questions: Mapping[str, float]) -> None:
    if question not in questions:
        known = ", ".join(questions) or "none"
        raise TableError(f"{place}: there is no written question {question!r}. Known: {known}.")


def _points(place: str, text: str) -> float | None:
    if not text:
        return None
    if not re.fullmatch(r"[-+]?\d+(?:[.,]\d+)?", text):
        raise TableError(f"{place}: {text!r} is no number of points.")
    return float(text.replace(",", "."))


def written(text: str, kept: Sequence[KeptComment]) -> Written:
    """A comment as somebody has typed it, with the texts of some kept comments in place of their keys."""
    by_key = {comment.key: comment for comment in kept}
    points: list[float] = []
    slips = {}

    def replaced(found: re.Match) -> str:
        key = found[1]
        if key not in by_key:
            # a path or a fraction stays as it is
            if alike := difflib.get_close_matches(key, by_key, 1):
                slips[key] = alike[0]
            return found[0]
        comment = by_key[key]
        if comment.points is not None:
            points.append(comment.points)
        return comment.text

    shown = TYPED.sub(replaced, text)
    return Written(shown, sum(points) if points else None, slips)


def score(maximum: float, change: float) -> float:
    """Full marks with what comments take off or add, neither below 0 nor above the maximum."""
    return min(max(maximum + change, 0.0), maximum)


# In the gradebook -----------------------------------------------------------------------------


def replace_typed_keys(course: Course, exercises: Sequence[Exercise]) -> list[str]:
    """Replace the keys that were typed in formgrader; returns what the instructor should be told.

    Comments with points give them, unless somebody has given points for the answer already.
    """
    lists = {exercise: kept_comments(exercise) for exercise in exercises}
    lists = {exercise: kept for exercise, kept in lists.items() if kept}
    notes: list[str] = []
    if not lists or not gradebook_exists(course.db_url):
        return notes
    from nbgrader.api import Comment

    by_name = {exercise.name: kept for exercise, kept in lists.items()}
    with transaction(course.db_url) as gradebook:
        typed = gradebook.db.query(Comment).filter(Comment.manual_comment.contains("/"))
        for comment in typed.all():
            submission = comment.notebook.assignment
            exercise, student = submission.assignment.name, submission.student_id
            own = [one for one in by_name.get(exercise, ()) if one.question == comment.name]
            if not own:
                continue
            new = written(comment.manual_comment, own)
            notes += [
                f"{exercise}, {comment.name}, {student}: there is no comment /{slip}; did you mean /{meant}?"
                for slip, meant in new.slips.items()
            ]
            comment.manual_comment = new.text
            grade = gradebook.find_grade(comment.name, exercise, exercise, student)
            if new.points is not None and grade.manual_score is None:
                grade.manual_score = score(grade.max_score, new.points)
                grade.needs_manual_grade = False
        gradebook.db.commit()
    return notes


def read_marks(path: Path, exercise: Exercise) -> list[Mark]:
    """Marks from a CSV file with the columns student, question, points and comment. Raises TableError."""
    questions = written_questions(exercise)
    found: dict[tuple[str, str], Mark] = {}
    for number, row in read_csv(path, MARK_COLUMNS):
        place = f"{path}, line {number}"
        _check_question(place, row["question"], questions)
        points = _points(place, row["points"])
        if points is not None and not 0 <= points <= questions[row["question"]]:
            raise TableError(
                f"{place}: {row['points']} is not between 0 and the {as_shown(questions[row['question']])} points of "
                f"{row['question']}. Nothing was written."
            )
        if points is None and not row["comment"]:
            raise TableError(f"{place}: there are neither points nor a comment.")
        key = row["student"], row["question"]
        if key in found:
            raise TableError(
                f"{place}: {row['student']} has a mark for {row['question']} in line {found[key].line}. Keep "
                "one of the two; nothing was written."
            )
        found[key] = Mark(*key, points, row["comment"], number)
    return list(found.values())


def give(course: Course, exercise: Exercise, marks: Sequence[Mark], path: Path) -> list[str]:
    """Record marks, all of them or none; returns a sentence for each that takes another one's place.

    A member of a group stands for the group. Raises TableError for a student who has handed in nothing
    and for a key that is a slip.
    """
    if not gradebook_exists(course.db_url):
        raise GradebookError("Nothing has been graded yet: run `python -m autograder grade` first.")
    kept = kept_comments(exercise)
    groups = read_groups(course, exercise.name)
    notes: list[str] = []
    with transaction(course.db_url) as gradebook:
        assignment = gradebook.find_assignment(exercise.name)
        submissions = ranks(own_grades(course, gradebook, assignment).values())
        for mark in marks:
            submitter = groups.submitter(mark.student, submissions)
            if submitter is None:
                raise TableError(
                    f"{path}, line {mark.line}: {mark.student} has handed in nothing for {exercise} that was "
                    "graded. Nothing was written."
                )
            new = written(mark.comment, [one for one in kept if one.question == mark.question])
            for slip, meant in new.slips.items():
                raise TableError(
                    f"{path}, line {mark.line}: there is no comment /{slip}; did you mean /{meant}? Nothing "
                    "was written."
                )
            notes += _give(gradebook, exercise.name, submitter, mark, new)
        gradebook.db.commit()
    return notes


def _give(gradebook: Gradebook, exercise: str, student: str, mark: Mark, new: Written) -> list[str]:
    place = mark.question, exercise, exercise, student
    grade, comment = gradebook.find_grade(*place), gradebook.find_comment(*place)
    notes = []
    points = mark.points
    if points is None and new.points is not None:
        points = score(grade.max_score, new.points)
    if points is not None:
        if grade.manual_score not in (None, points):
            notes.append(
                f"{student}, {mark.question}: {as_shown(points)} points, before {as_shown(grade.manual_score)}."
            )
        grade.manual_score = points
        grade.needs_manual_grade = False
    if new.text:
        if comment.manual_comment not in (None, "", new.text):
            notes.append(
                f"{student}, {mark.question}: the comment {comment.manual_comment!r} was replaced."
            )
        comment.manual_comment = new.text
    return notes


# In formgrader --------------------------------------------------------------------------------


class ShowKeptComments(Preprocessor):
    """Step of showing a notebook in formgrader: below a written answer, the comments kept for it."""

    root = Unicode(help="The course's folder.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Add a cell with the list after each written answer that has one."""
        # only formgrader names a submission; students' pages are made by the same steps
        if "submission_id" not in resources:
            return nb, resources
        try:
            kept = kept_comments(Course(Path(self.root)).exercise(resources["assignment_id"]))
        except CourseError as error:
            note = nbformat.v4.new_markdown_cell(as_markdown(str(error)))
            nb.cells.insert(0, note)
            return nb, resources
        cells = []
        for cell in nb.cells:
            cells.append(cell)
            own = [one for one in kept if one.question == metadata_of(cell).get("grade_id")]
            if own and cell.cell_type == "markdown":
                lines = [f"- {as_markdown(str(one))}" for one in own]
                head = "**Comments kept for this question.** Type a key into the comment box:"
                cells.append(nbformat.v4.new_markdown_cell("\n".join([head, "", *lines])))
        nb.cells = cells
        return nb, resources
