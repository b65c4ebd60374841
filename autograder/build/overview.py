"""What the first cell of an exercise says of its tasks: points, hours, and where to read about each.

The book's words and hours make no exercise stale, so a build compares first cells without this.
"""

from __future__ import annotations

from nbformat import NotebookNode

from autograder.book_index import Section, book_sections, book_url, exercise_hours
from autograder.catalogue import sections
from autograder.course import Exercise
from autograder.exercises import tasks

SUMMARY, TABLE = "**In this notebook:** ", "| task | points | read about it |\n|---|---|---|"


def _count(number: float, name: str) -> str:
    return f"{number:g} {name}{'' if number == 1 else 's'}"


def _reading(section: Section) -> str:
    """Where a section is, as a link where the book's address is known."""
    place = section.place.replace("|", "\\|")
    return f"[{place}]({section.address(book_url())})" if book_url() else place


def overview(exercise: Exercise, notebook: NotebookNode) -> list[str]:
    """Two paragraphs on an exercise's tasks: what they are together, and a table; none without tasks."""
    found = tasks(notebook)
    if not found:
        return []
    labels, places = sections(exercise), book_sections(exercise.root)
    rows, points = [], 0.0
    for task in found:
        own = sum(task.checks.values()) + task.written
        points += own
        named = dict.fromkeys(labels[cell] for cell in task.checks if labels.get(cell) in places)
        reading = "; ".join(_reading(places[label]) for label in named)
        rows.append(f"| {task.name} | {own:g} | {reading} |")
    hours = exercise_hours(exercise.root, exercise.name)
    time = f", about {_count(hours, 'hour')}" if hours else ""
    summary = f"{SUMMARY}{_count(len(found), 'task')}, {_count(points, 'point')}{time}."
    return [summary, "\n".join([TABLE, *rows])]


def with_overview(source: str, paragraphs: list[str]) -> str:
    """The first cell's source with an overview below what it begins with: the title and the goal."""
    own = source.split("\n\n")
    goal = 2 if own[0].startswith("# ") else 1
    return "\n\n".join([*own[:goal], *paragraphs, *own[goal:]])


def without_overview(source: str) -> str:
    """A cell's source without the overview in it."""
    own = [text for text in source.split("\n\n") if not text.startswith((SUMMARY, TABLE))]
    return "\n\n".join(own)
