"""What whoever reads a written answer needs beside it: the question, a full answer, and the rubric."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from traitlets import Unicode

from autograder.course import Course, Exercise
from autograder.errors import CourseError
from autograder.exercises import metadata_of

BEGIN, END, RUBRIC = "### BEGIN SOLUTION", "### END SOLUTION", "Rubric:"


@dataclass(frozen=True)
class WrittenQuestion:
    """A question that is answered in words. rubric: what gives points; empty if the solution has none."""

    text: str
    answer: str
    rubric: str


def read_questions(exercise: Exercise) -> dict[str, WrittenQuestion]:
    """The written questions of an exercise by grade_id, from its reference solution."""
    found = {}
    for cell in jupytext.read(exercise.solution, fmt="py:percent").cells:
        own = metadata_of(cell)
        if cell.cell_type == "markdown" and own.get("grade") and own.get("solution"):
            text, _, rest = cell.source.partition(BEGIN)
            answer, _, rubric = rest.partition(END)[0].partition(RUBRIC)
            found[own["grade_id"]] = WrittenQuestion(text.strip(), answer.strip(), rubric.strip())
    return found


def beside(question: WrittenQuestion, answer: str) -> str:
    """What stands above a student's answer, as Markdown.

    The question is left out where the student's cell still has it.
    """
    one_line = lambda text: " ".join(text.split())
    parts = [] if one_line(question.text) in one_line(answer) else [question.text]
    parts.append(f"**A full answer.** {question.answer}")
    if question.rubric:
        parts.append(f"**Rubric.** {question.rubric}")
    return "\n\n".join(parts)


class ShowQuestions(Preprocessor):
    """Step of showing a notebook in formgrader: above a written answer, its question and rubric."""

    root = Unicode(help="The course's folder.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Add a cell above each written answer; for the grader's eyes only."""
        # only formgrader names a submission; students' pages are made by the same steps
        if "submission_id" not in resources:
            return nb, resources
        try:
            exercise = Course(Path(self.root)).exercise(resources["assignment_id"])
        except CourseError:
            # a notebook of another assignment
            return nb, resources
        questions = read_questions(exercise)
        cells = []
        for cell in nb.cells:
            question = questions.get(metadata_of(cell).get("grade_id", ""))
            if question and cell.cell_type == "markdown":
                cells.append(nbformat.v4.new_markdown_cell(beside(question, cell.source)))
            cells.append(cell)
        nb.cells = cells
        return nb, resources
