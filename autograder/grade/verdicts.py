"""Verdicts as a notebook shows them, rendered from the stored result with the words of today."""

from __future__ import annotations

import html
from pathlib import Path

import nbformat
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from traitlets import Unicode

from autograder.book_index import Section, book_url
from autograder.course import Course
from autograder.errors import CourseError
from autograder.exercises import is_grade_cell, metadata_of
from autograder.grade.exercise_words import words_of
from autograder.grade.result import CellResult, Result
from autograder.grade.words import LineRow, Words, remark
from autograder.points import as_shown
from autograder.runtime.messages import is_readable
from autograder.text import as_markdown, with_code

REMARKS_CELL = "remarks"
GREEN, RED = "#2e7d32", "#b3261e"


def result_path(notebook: Path) -> Path:
    """Where the result of an autograded notebook lies."""
    return notebook.with_name(f"{notebook.stem}.result.json")


def _points(row: LineRow) -> str:
    # a question that was dropped after the hand-out keeps its cell, with 0 points
    counted = (
        f"{as_shown(row.earned)}/{as_shown(row.points)} points" if row.points else "doesn't count:"
    )
    return f"{'✓' if row.is_passed else '✗'} {counted}"


def _plain(cell: CellResult, words: Words, section: Section | None) -> str:
    lines = []
    for line, row in zip(cell.lines, words.rows(cell), strict=True):
        lines.append(f"{_points(row)}   {row.title}")
        if row.words:
            lines.append("    " + row.words.replace("\n", "\n    "))
        in_words = row.title != line.expression
        if in_words and not row.is_passed and is_readable(row.expression):
            lines.append(f"    Checked: {row.expression}")
    if section:
        lines.append(f"Read again: {section.place}")
    return "\n".join(lines)


def _html(cell: CellResult, words: Words, section: Section | None) -> str:
    lines = []
    for line, row in zip(cell.lines, words.rows(cell), strict=True):
        colour = GREEN if row.is_passed else RED
        message = with_code(row.words).replace("\n", "<br>")
        expression = f"<code>{html.escape(row.expression)}</code>"
        folded = f"<details><summary>What was checked</summary>{expression}</details>"
        in_words = row.title != line.expression
        lines.append(
            f'<div style="margin:0.4em 0;border-left:4px solid {colour};padding-left:0.6em">'
            f'<strong style="color:{colour}">{_points(row)}</strong> '
            + (with_code(row.title) if in_words else expression)
            + (f"<div>{message}</div>" if message else "")
            + (folded if in_words else "")
            + "</div>"
        )
    if section:
        lines.append(f"<div>Read again: {section.link(book_url())}</div>")
    return "".join(lines)


def _outputs(cell: CellResult, words: Words) -> list[NotebookNode]:
    """A grade cell's outputs, in the form that nbgrader's determine_grade reads.

    What the student's code printed meanwhile is not among them: it may hold the drawn inputs.
    """
    new = nbformat.v4.new_output
    section = words.section(cell)
    data = {
        "text/plain": _plain(cell, words, section),
        "text/html": _html(cell, words, section),
    }
    outputs = [new("display_data", data=data)]
    if cell.earned == 0 and cell.points > 0:
        text = f"0 of {as_shown(cell.points)} points"
        outputs.append(new("error", ename="Not yet", evalue=text, traceback=[f"Not yet: {text}"]))
    elif cell.earned < cell.points:
        outputs.append(new("execute_result", data={"text/plain": repr(float(cell.earned))}))
    return outputs


def show_verdicts(notebook: NotebookNode, result: Result, words: Words) -> None:
    """Write a result's verdicts and remarks into its notebook, in place of those that are there."""
    cells = {cell.grade_id: cell for cell in result.cells}
    for cell in notebook.cells:
        if is_grade_cell(cell) and metadata_of(cell).grade_id in cells:
            cell.outputs = _outputs(cells[metadata_of(cell).grade_id], words)
    notebook.cells = [cell for cell in notebook.cells if cell.get("id") != REMARKS_CELL]
    if result.remarks:
        text = " ".join(map(remark, result.remarks))
        source = f"**From the grader.** {as_markdown(text)}"
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(source, id=REMARKS_CELL))


class Verdicts(Preprocessor):
    """Step of turning an autograded notebook into HTML: verdicts as they are said today."""

    root = Unicode(help="The course's folder.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Render the verdicts anew from the result beside the notebook, if there is one."""
        place = resources.get("metadata", {})
        path = result_path(Path(place.get("path", ""), f"{place.get('name')}.ipynb"))
        try:
            result = Result.read(path)
            exercise = Course(Path(self.root)).exercise(result.exercise)
        except (FileNotFoundError, CourseError):
            # a notebook of another assignment, or without a readable result, is shown as it is
            return nb, resources
        show_verdicts(nb, result, words_of(exercise))
        return nb, resources
