"""What a feedback page shows, as data: tasks with their points, verdicts in words, and what is folded.

The template is display/templates/feedback/index.html.j2; it is used by `python -m autograder feedback`
and by nbgrader's generate_feedback alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from autograder.book_index import book_url
from autograder.course import Course, Exercise
from autograder.errors import CourseError
from autograder.exercises import BEFORE, heading, is_grade_cell, metadata_of, released, task_names
from autograder.grade.class_grades import told_on_page
from autograder.grade.exercise_words import words_of
from autograder.grade.result import CellResult, Result
from autograder.grade.seeds import end_round
from autograder.grade.verdicts import REMARKS_CELL, result_path
from autograder.grade.words import LineRow, Words, remark
from autograder.points import as_shown
from autograder.text import fenced


@dataclass(frozen=True)
class CellSection:
    """A grade cell; section: where to read again, as HTML, empty if nothing was lost."""

    lines: tuple[LineRow, ...]
    section: str

    @property
    def lost(self) -> tuple[LineRow, ...]:
        """The checks that failed and are shown."""
        return tuple(line for line in self.lines if not line.is_passed and not line.folded)

    @property
    def also_lost(self) -> tuple[LineRow, ...]:
        """The other checks that failed."""
        return tuple(line for line in self.lines if not line.is_passed and line.folded)

    @property
    def passed(self) -> tuple[LineRow, ...]:
        """The checks that passed, some given right answers to earlier tasks."""
        return tuple(line for line in self.lines if line.is_passed)


@dataclass
class TaskSection:
    """A task by its heading.

    unread: points of written answers that nobody has read yet, which are not among points; cells: of the
    graded notebook, in order; checks: by grade cell; recognised: names of known mistakes.
    """

    name: str
    points: float = 0
    earned: float = 0
    unread: float = 0
    recognised: list[str] = field(default_factory=list)
    cells: list[NotebookNode] = field(default_factory=list)
    checks: dict[str, CellSection] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """Whether nothing is lost and nothing open."""
        return self.earned >= self.points and not self.unread

    @property
    def is_graded(self) -> bool:
        """Whether it is worth points."""
        return bool(self.points or self.unread)


@dataclass(frozen=True)
class Page:
    """One student's feedback: the exercise's title, the grader's remarks, tasks and locked cells."""

    title: str
    remarks: tuple[str, ...]
    tasks: tuple[TaskSection, ...]
    provided: tuple[NotebookNode, ...]

    @property
    def unread(self) -> float:
        """Points of written answers that nobody has read yet."""
        return sum(task.unread for task in self.tasks)


def _checks(cell: CellResult, words: Words) -> CellSection:
    section = words.section(cell)
    return CellSection(words.rows(cell), section.link(book_url()) if section else "")


def _placed(
    notebook: NotebookNode, places: Mapping[str, str]
) -> Iterator[tuple[str, NotebookNode]]:
    """A notebook's cells with their tasks; a cell of the student's own belongs to the one it stands in."""
    task = BEFORE
    for cell in notebook.cells:
        own = heading(cell.source, "## ") if cell.cell_type == "markdown" else ""
        if metadata_of(cell):
            task = places.get(metadata_of(cell).grade_id, task)
        elif own in places.values():
            task = own
        if cell.get("id") != REMARKS_CELL:
            yield task, cell


def page_of(notebook: NotebookNode, result: Result, exercise: Exercise) -> Page:
    """A page's content.

    notebook: graded, with points and comments from the gradebook in its cells' metadata
    (`RecordedPoints`).
    """
    words = words_of(exercise)
    title, places = task_names(released(exercise))
    graded = {cell.grade_id: cell for cell in result.cells}
    tasks: dict[str, TaskSection] = {}
    provided = []
    for name, cell in _placed(notebook, places):
        own = metadata_of(cell)
        is_locked = own and not own.get("grade") and not own.get("solution")
        if is_locked:
            provided.append(cell)
            continue
        task = tasks.setdefault(name, TaskSection(name))
        task.cells.append(cell)
        if own.get("grade"):
            points = own.get("points", 0)
            if own.get("unread"):
                task.unread += points
            else:
                task.points += points
                task.earned += own.get("score", 0)
        found = graded.get(own.get("grade_id", "")) if is_grade_cell(cell) else None
        if found:
            task.checks[found.grade_id] = _checks(found, words)
            names = (line.mistake for line in found.lines if line.mistake and not line.passed)
            task.recognised += [name for name in names if name not in task.recognised]
    remarks = tuple(map(remark, result.remarks))
    return Page(title or exercise.name, remarks, tuple(tasks.values()), tuple(provided))


def as_text(page: Page, totals: Mapping[str, Any]) -> str:
    """A page in short, for where only plain text can be sent: points, what was lost and why, comments.

    totals: score, max_score and late_penalty of the submission, as `RecordedPoints` gives them.
    """
    points = totals["max_score"] - page.unread
    lines = [f"{page.title}: {as_shown(totals['score'])} of {as_shown(points)} points"]
    lines += [*_beside_points(page, totals), *page.remarks]
    for task in filter(lambda task: task.is_graded, page.tasks):
        said = [text for own in task.checks.values() for text in _lost(own)]
        said += [f"Comment: {c}" for cell in task.cells if (c := metadata_of(cell).get("comment"))]
        if said or not task.is_right:
            earned = f"{as_shown(task.earned)} of {as_shown(task.points)} points"
            is_open = f"{as_shown(task.unread)} points are open"
            lines += ["", f"{task.name}: {earned if task.points else is_open}"]
            lines += [f"- {_indented(text)}" for text in said]
    return "\n".join(lines)


def as_markdown(page: Page, totals: Mapping[str, Any]) -> str:
    """A page as Markdown, for where it is posted: points, what was lost and why, where to read, comments.

    What a student's code can have a say in stands in blocks, where nothing is markup, a link or the name of
    somebody who would be notified. totals: as for `as_text`.
    """
    points = as_shown(totals["max_score"] - page.unread)
    lines = [f"# {page.title}", "", f"**{as_shown(totals['score'])} of {points} points.**"]
    lines += _beside_points(page, totals)
    if page.remarks:
        lines += ["", fenced("\n".join(page.remarks))]
    graded = [task for task in page.tasks if task.is_graded]
    lines += ["", "| task | points |", "| --- | --- |"]
    for task in graded:
        earned = f"{as_shown(task.earned)} of {as_shown(task.points)}" if task.points else "open"
        name = task.name.replace("|", r"\|")
        lines.append(f"| {name} | {earned} |")
    for task in graded:
        said = _task_in_markdown(task)
        lines += ["", f"## {task.name}", *said] if said else []
    return "\n".join(lines) + "\n"


def _beside_points(page: Page, totals: Mapping[str, Any]) -> list[str]:
    """What is said about points that are open or were taken off."""
    lines = []
    if page.unread:
        unread = as_shown(page.unread)
        lines.append(f"{unread} more are open: a written answer has not been read yet.")
    if penalty := totals.get("late_penalty"):
        lines.append(f"{as_shown(penalty)} points were taken off for handing in late.")
    return lines


def _task_in_markdown(task: TaskSection) -> list[str]:
    """What was lost in a task and why, where to read again, and comments; nothing for a task without."""
    lines = []
    for own in task.checks.values():
        lost = [line for line in own.lost if line.points]
        for line in lost:
            earned = f"{as_shown(line.earned)} of {as_shown(line.points)}"
            lines += ["", f"**{line.title}** ({earned})", "", fenced(line.words)]
        if more := sum(1 for line in own.also_lost if line.points):
            lines += ["", f"{_more_checks(more).capitalize()} with it."]
        if lost and own.section:
            lines += ["", f"Read again: {own.section}"]
    for cell in task.cells:
        if comment := metadata_of(cell).get("comment"):
            quoted = "\n".join(f"> {line}" for line in comment.splitlines())
            lines += ["", "A comment:", "", quoted]
    return lines


def _lost(checks: CellSection) -> list[str]:
    """What is said about the checks of a cell that cost points."""
    said = [f"{line.title}: {line.words}" for line in checks.lost if line.points]
    more = sum(1 for line in checks.also_lost if line.points)
    return [*said, f"{_more_checks(more)} with it"] if more else said


def _more_checks(number: int) -> str:
    return f"{number} more {'check fails' if number == 1 else 'checks fail'}"


def _indented(text: str) -> str:
    """The lines of an item of a list, without empty ones: what was found, the mistake, its hint."""
    return "\n  ".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


class FeedbackPage(NbGraderPreprocessor):
    """Step of writing feedback: what the page shows, and a record of what was graded by then.

    Runs after RecordedPoints, which puts points and comments into the cells.
    """

    root = Unicode(help="The course's folder.").tag(config=True)
    home = Unicode(help="The class's folder, if it isn't the course's own.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Add the page to the resources; None for a notebook without a readable result."""
        resources["feedback"] = None
        place: Mapping[str, Any] = resources.get("metadata", {})
        path = result_path(Path(place.get("path", ""), f"{place.get('name')}.ipynb"))
        course = Course(Path(self.root), class_folder=Path(self.home) if self.home else None)
        try:
            result = Result.read(path)
            exercise = course.exercise(result.exercise)
        except (FileNotFoundError, CourseError):
            return nb, resources
        end_round(course, result)
        page = page_of(nb, result, exercise)
        if told := told_on_page(course, exercise, result.student):
            page = replace(page, remarks=(*page.remarks, told))
        resources["feedback"] = page
        return nb, resources
