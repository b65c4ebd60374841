"""Points and comments of the gradebook, put into the graded notebook that a feedback page is made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.exercises import metadata_of
from autograder.grade.gradebook import of_cells

Found = TypeVar("Found")


class RecordedPoints(NbGraderPreprocessor):
    """As nbgrader's GetGrades, which asks the gradebook for each cell, with one question for all grades
    and one for all comments.

    Written answers for which nobody has given points are marked as unread, too.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Add score, points and comment to the cells' metadata, and the totals to the resources.

        Raises MissingEntry where the gradebook lacks the submission, or a grade or comment of it.
        """
        whose = resources["nbgrader"]
        with Gradebook(whose["db_url"]) as gradebook:
            notebook = gradebook.find_submission_notebook(
                whose["notebook"], whose["assignment"], whose["student"]
            )
            grades, comments = of_cells(gradebook, notebook)
            for cell in nb.cells:
                own = metadata_of(cell)
                is_task = own.get("task")
                if own.get("solution") or is_task:
                    own.comment = _of_cell(comments, own.grade_id, whose["student"]).comment
                if own.get("grade") or is_task:
                    grade = _of_cell(grades, own.grade_id, whose["student"])
                    own.score, own.points = grade.score, grade.max_score
                    if cell.cell_type == "markdown":
                        own.unread = grade.auto_score is None and grade.manual_score is None
            penalty = notebook.late_submission_penalty or 0
            whose["score"] = notebook.score - penalty
            whose["max_score"], whose["late_penalty"] = notebook.max_score, penalty
        return nb, resources


def _of_cell(found: Mapping[str, Found], grade_id: str, student: str) -> Found:
    try:
        return found[grade_id]
    except KeyError:
        raise MissingEntry(f"The gradebook has nothing of {grade_id} for {student}") from None
