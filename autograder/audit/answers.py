"""Answers written from the statements alone, by somebody who has seen neither checks nor catalogue.

Each file of a folder is the whole code of one answer cell, below lines of comments:

    # exercise: ch6_transformer
    # task: shift
    # kind: wrong
    # mistake: `squeeze()` drops the axis of the batch

`task` is the answer cell, `kind` right or wrong, and of a right answer `mistake` says what is unusual. It is graded in
a class, beside right answers to everything else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.audit.audit import grade_cases
from autograder.audit.cases import Case
from autograder.course import Course, Exercise
from autograder.errors import SubmissionFolderError
from autograder.exercises import (
    graded_answers,
    is_answer_cell,
    metadata_of,
    reference_answers,
    released,
    solved,
)
from autograder.grade.result import Result
from autograder.grade.words import sentence
from autograder.programs import spans_of

LINE = re.compile(r"^# (\w+): (.*)$", flags=re.MULTILINE)
NEEDED = ("exercise", "task", "kind", "mistake")


@dataclass(frozen=True)
class Answer:
    """One answer. task: its answer cell; mistake: or, of a right one, what is unusual."""

    name: str
    exercise: Exercise
    task: str
    right: bool
    mistake: str
    code: str

    def cell_of(self, notebook: NotebookNode) -> NotebookNode:
        """Its cell in a notebook; SubmissionFolderError if there is none."""
        for cell in filter(is_answer_cell, notebook.cells):
            if metadata_of(cell).grade_id == self.task:
                return cell
        raise SubmissionFolderError(f"{self.name}: {self.exercise} has no answer cell {self.task}.")

    def notebook(self) -> NotebookNode:
        """What is handed in: right answers everywhere, but for this one."""
        notebook = solved(self.exercise, reference_answers(self.exercise))
        self.cell_of(notebook).source = self.code.strip()
        return notebook

    def own_cells(self) -> set[str]:
        """The grade cells of its task."""
        notebook = released(self.exercise)
        names = {*spans_of(self.cell_of(notebook).source)}
        return {cell for cell, graded in graded_answers(notebook).items() if names & {*graded}}


@dataclass(frozen=True)
class Finding:
    """What is said about an answer.

    own, elsewhere: points lost in the cells that grade its task, and in others; names: told as known
    mistakes; lost: the lines of its task that it fails, with what the grade says.
    """

    answer: Answer
    own: float
    elsewhere: float
    names: tuple[str, ...]
    lost: tuple[str, ...]

    @property
    def surprising(self) -> bool:
        """Whether a wrong answer passes, or anything is lost that shouldn't be."""
        return bool(self.own) is self.answer.right or self.elsewhere > 0

    def __str__(self) -> str:
        kind = "right" if self.answer.right else "wrong"
        named = f", named {', '.join(self.names)}" if self.names else ""
        head = f"{self.answer.name} ({kind}): {self.own:g} points lost{named}"
        if self.elsewhere:
            head += f", and {self.elsewhere:g} in checks of other answers"
        return "\n    ".join([head, self.answer.mistake, *self.lost])


def read_answers(course: Course, folder: Path) -> list[Answer]:
    """The answers of a folder; SubmissionFolderError if there are none, or a line is missing."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        head = {name: value.strip() for name, value in LINE.findall(text)}
        if missing := [name for name in NEEDED if name not in head]:
            raise SubmissionFolderError(f"{path} has no line for {', '.join(missing)}.")
        exercise, code = course.exercise(head["exercise"]), LINE.sub("", text)
        right = head["kind"] == "right"
        found.append(Answer(path.stem, exercise, head["task"], right, head["mistake"], code))
    if not found:
        raise SubmissionFolderError(f"There are no answers in {folder}.")
    return found


def finding(answer: Answer, result: Result) -> Finding:
    """What a grade says about an answer."""
    own = answer.own_cells()
    failed = [cell for cell in result.cells if not cell.passed]
    mine = [cell for cell in failed if cell.grade_id in own]
    points = sum(cell.points - cell.earned for cell in mine)
    return Finding(
        answer,
        points,
        sum(cell.points - cell.earned for cell in failed) - points,
        tuple(sorted({cell.mistake for cell in failed if cell.mistake})),
        tuple(
            f"{line.expression}: {sentence(line) or line.verdict}"
            for cell in mine
            for line in cell.lines
            if not line.passed
        ),
    )


def graded(course: Course, answers: Sequence[Answer], workers: int | None = None) -> list[Finding]:
    """Grade answers in a class of their own. workers: as for `grade_cases`."""
    cases = [Case(a.exercise, "extra", a.name, nbformat.writes(a.notebook())) for a in answers]
    results = {one.case.name: one.graded_result for one in grade_cases(course, cases, workers)}
    return [finding(answer, results[answer.name]) for answer in answers]
