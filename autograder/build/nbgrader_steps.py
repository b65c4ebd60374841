"""Steps of generating an exercise that `nbgrader_settings` names, beside nbgrader's own."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from autograder.book_index import book_url
from autograder.build.due_date import put_due_date, shown_due_date
from autograder.build.generate import content_digest, stamps
from autograder.build.instantiate import collect_answers
from autograder.build.source_notebook import is_held_back
from autograder.course import Course, Exercise
from autograder.exercises import is_grade_cell, metadata_of, released
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.messages import title


def claims(cell: NotebookNode) -> str:
    """What a grade cell asks for, line by line with points, in the words and the form of its verdict."""
    answers = " and ".join(cell.metadata["autotest"]["grades"])
    lines = [
        f"• {check.points:g} point{'' if check.points == 1 else 's'}   {title(check)}"
        for check in parse_cell(cell.source).checks
    ]
    return "\n".join([f"Run this cell to check your {answers}:", *lines, ""])


class FormatChecks(NbGraderPreprocessor):
    """Turns grade cells whose answers are in place into `%%autotest` cells, and their answers into one."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Format every grade cell, then collect the answers."""
        nb, resources = super().preprocess(nb, resources)
        collect_answers(nb)
        return nb, resources

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Put the magic first, and drop the empty lines that nbgrader adds."""
        if is_grade_cell(cell):
            lines = [line for line in cell.source.split("\n") if line.strip()]
            cell.source = "\n".join([f"%%autotest {metadata_of(cell).grade_id}", *lines])
        return cell, resources


class ShowClaims(NbGraderPreprocessor):
    """Shows below each folded check what it asks for, where its verdict will stand once it has run."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Put a grade cell's claims among its outputs."""
        if is_grade_cell(cell):
            cell.outputs = [nbformat.v4.new_output("stream", text=claims(cell))]
        return cell, resources


class Stamp(NbGraderPreprocessor):
    """Last step of generation: records in the notebook what it says and what it was made from.

    The due date that the notebook showed before stays in it.
    """

    root = Unicode(help="The course's folder.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Add the record to the notebook's metadata."""
        course = Course(Path(self.root))
        exercise = Exercise(course.root, resources["nbgrader"]["notebook"])
        made_from, answers = stamps(exercise, course.settings, is_held_back(nb))
        if exercise.notebook.is_file():
            put_due_date(nb, shown_due_date(released(exercise)))
        nb.metadata.autotest = NotebookNode(
            made_from=made_from, answers=answers, digest=content_digest(nb)
        )
        if book_url():
            nb.metadata.autotest.book = book_url()
        return nb, resources
