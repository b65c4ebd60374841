"""Sphinx extension: what a chapter's exercise asks for, and where a reader can begin with it.

Every page of a chapter has a bar under its title with the exercise's tasks, points and hours and the ways to
get it. `{task} softmax` says at the end of a section that the task with this answer can be done now. Tasks
and points come from the notebook, hours from `exercise-hours:` in the front matter of the chapter's first
page; the role {exercise-hours}`3` stands for those of chapter 3, and `1 2` for those of two together.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from autograder.book_index import colab_url, exercise_hours
from autograder.course import Course
from autograder.errors import CourseError
from autograder.exercises import graded_answers, released, tasks


@dataclass(frozen=True)
class Offer:
    """A chapter's exercise. tasks: the number of the task by the name of each answer; hours: estimated."""

    name: str
    number: int
    points: int
    count: int
    tasks: dict[str, str]
    hours: int


@functools.cache
def offer_of(root: Path, chapter: str) -> Offer | None:
    """The exercise of a chapter, such as "ch3"; None where there is none."""
    try:
        exercise = Course(root).exercise(chapter)
    except CourseError:
        return None
    notebook = released(exercise)
    answers, found = graded_answers(notebook), tasks(notebook)
    hours = exercise_hours(root, exercise.name)
    if hours is None:
        raise CourseError(
            f"book/{exercise}.md needs a line `exercise-hours: 4` in its front matter."
        )
    return Offer(
        str(exercise),
        int(chapter.removeprefix("ch")),
        int(sum(sum(task.checks.values()) + task.written for task in found)),
        len(found),
        {name: task.name for task in found for cell in task.checks for name in answers[cell]},
        hours,
    )


def chapter_of(page: str) -> str:
    """The chapter of a page's name, such as "ch3"; empty for other pages."""
    found = re.match(r"book/(ch\d+)_", page)
    return found[1] if found else ""


def add_bar(app: Sphinx, doctree: nodes.document) -> None:
    """Put the bar under the title, before Sphinx collects the files to download."""
    page = app.env.docname
    title = next(doctree.findall(nodes.title), None)
    offer = offer_of(Path(app.srcdir), chapter_of(page)) if chapter_of(page) else None
    if title is None or offer is None:
        return
    notebook = f"exercises/{offer.name}/{offer.name}.ipynb"
    app.env.note_dependency(notebook)
    words = f"{offer.count} tasks, {offer.points} points, about {offer.hours} hours. "
    begin = nodes.strong("", f"Exercise {offer.number}")
    download = addnodes.download_reference(
        "", "Download", reftarget=f"/{notebook}", refdoc=page, refdomain="", reftype="download"
    )
    line = nodes.paragraph("", "", begin, nodes.Text(f": {words}"), download)
    address = colab_url(offer.name)
    if address:
        opened = nodes.reference("", "Open in Colab", refuri=address, internal=False)
        line += [nodes.Text(" · "), opened]
    where = addnodes.pending_xref(
        "",
        nodes.inline("", "How to begin"),
        refdoc=page,
        refdomain="std",
        reftype="ref",
        reftarget=f"{chapter_of(page)}-exercise",
        refexplicit=True,
        refwarn=True,
    )
    line += [nodes.Text(" · "), where]
    bar = nodes.container("", line, classes=["exercise-bar"])
    title.parent.insert(title.parent.index(title) + 1, bar)


class Task(SphinxDirective):
    """The arguments are names of answers that the chapter's exercise asks for."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        page = self.env.docname
        offer = offer_of(Path(self.env.srcdir), chapter_of(page)) if chapter_of(page) else None
        names = self.arguments[0].split()
        unknown = [name for name in names if offer is None or name not in offer.tasks]
        if offer is None or unknown:
            raise self.error(f"{{task}} has no such answer in the chapter's exercise: {unknown}")
        found = list(dict.fromkeys(offer.tasks[name] for name in names))
        line = nodes.paragraph(classes=["can-do"])
        line += nodes.Text(f"You can now do task{'s' if len(found) > 1 else ''} ")
        for place, name in enumerate(found):
            number, _, title = name.partition(". ")
            between = "" if place == 0 else " and " if place == len(found) - 1 else ", "
            line += nodes.Text(f"{between}{number} ({title})")
        where, messages = self.parse_inline(
            f" of {{ref}}`exercise {offer.number} <{chapter_of(page)}-exercise>`."
        )
        line += where
        return [line, *messages]


class ExerciseHours(SphinxRole):
    """The role {exercise-hours}: its text is numbers of chapters."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The hours of their exercises together."""
        root = Path(self.env.srcdir)
        offers = [offer_of(root, f"ch{number}") for number in self.text.split()]
        return [nodes.Text(str(sum(offer.hours for offer in offers if offer)))], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("task", Task)
    app.add_role("exercise-hours", ExerciseHours())
    # before the line with the time, which goes above it, and before the files to download are collected
    app.connect("doctree-read", add_bar, priority=300)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
