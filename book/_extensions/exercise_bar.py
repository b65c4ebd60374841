"""Sphinx extension: the line under a title, and where a reader can begin with a chapter's exercises.

Every page of a chapter has one line under its title: the minutes that the page takes, then the tasks, points
and hours of each of the chapter's exercises and the ways to get it. `{task} softmax` says at the end of a section that the task with this answer
can be done now. Tasks and points come from the notebooks, hours from the front matter of the chapter's pages
(`book_index.exercise_hours`); the role {exercise-hours}`3` stands for those of chapter 3, `1 2` for those of
two together, and the name of an exercise for its own.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective, SphinxRole

from autograder.book_index import book_sections, colab_url, exercise_hours
from autograder.course import Course, Exercise
from autograder.errors import CourseError
from autograder.exercises import graded_answers, released, task_names, tasks
from autograder.publish.page_source import page_to_read


@dataclass(frozen=True)
class Offer:
    """An exercise of a chapter.

    number: the chapter's, with the exercise's title where the chapter has several; section: the label of the
    section to begin in; tasks: the task of each answer, by name; hours: estimated.
    """

    name: str
    number: str
    section: str
    points: int
    count: int
    tasks: dict[str, str]
    hours: int


@functools.cache
def offers_of(root: Path, chapter: str) -> tuple[Offer, ...]:
    """The exercises of a chapter, such as "ch3"; none where there is no such chapter."""
    found = [e for e in Course(root).exercises() if chapter == f"ch{e.chapter}"]
    return tuple(_offer_of(exercise, len(found) > 1) for exercise in found)


def _offer_of(exercise: Exercise, is_one_of_several: bool) -> Offer:
    notebook = released(exercise)
    answers, found = graded_answers(notebook), tasks(notebook)
    hours = exercise_hours(exercise.root, exercise.name)
    if hours is None:
        raise CourseError(
            f"No page says how long {exercise} takes. Write `exercise-hours: 4` into the front matter of "
            f"book/{exercise}.md, or `exercise-hours-{exercise}: 4` into that of another page of its chapter."
        )
    title = task_names(notebook)[0].partition(": ")[2] or exercise.name
    chapter, _, rest = exercise.name.partition("_")
    own_section = f"{chapter}-exercise-{rest}"
    return Offer(
        exercise.name,
        f"{exercise.chapter}, {title}" if is_one_of_several else f"{exercise.chapter}",
        own_section if own_section in book_sections(exercise.root) else f"{chapter}-exercise",
        int(sum(sum(task.checks.values()) + task.written for task in found)),
        len(found),
        {name: task.name for task in found for cell in task.checks for name in answers[cell]},
        hours,
    )


def chapter_of(page: str) -> str:
    """The chapter of a page's name, such as "ch3"; empty for other pages."""
    found = re.match(r"book/(ch\d+)_", page)
    return found[1] if found else ""


def offers_on(env: BuildEnvironment) -> tuple[Offer, ...]:
    """The exercises of the chapter of the page that is being read."""
    return offers_of(Path(env.srcdir), chapter_of(env.docname))


def add_bar(app: Sphinx, doctree: nodes.document) -> None:
    """Put the line under the title of a chapter's page, before Sphinx collects the files to download."""
    page = app.env.docname
    title = next(doctree.findall(nodes.title), None)
    if title is None or not chapter_of(page):
        return
    minutes = page_to_read(Path(app.env.doc2path(page))).minutes()
    line = nodes.paragraph("", f"{minutes} minute{'' if minutes == 1 else 's'}")
    for offer in offers_on(app.env):
        line += ways_to(app.env, offer)
    bar = nodes.container("", line, classes=["exercise-bar"])
    title.parent.insert(title.parent.index(title) + 1, bar)


def ways_to(env: BuildEnvironment, offer: Offer) -> list[nodes.Node]:
    """An exercise's part of the line: its section, its size, and the ways to get the notebook."""
    page, between = env.docname, nodes.Text(" · ")
    notebook = f"exercises/{offer.name}/{offer.name}.ipynb"
    env.note_dependency(notebook)
    section = addnodes.pending_xref(
        "",
        nodes.inline("", f"Exercise {offer.number}"),
        refdoc=page,
        refdomain="std",
        reftype="ref",
        reftarget=offer.section,
        refexplicit=True,
        refwarn=True,
    )
    size = f": {offer.count} tasks, {offer.points} points, about {offer.hours} hours"
    download = addnodes.download_reference(
        "", "Download", reftarget=f"/{notebook}", refdoc=page, refdomain="", reftype="download"
    )
    found = [between, section, nodes.Text(size), between.copy(), download]
    address = colab_url(offer.name)
    if address:
        opened = nodes.reference("", "Open in Colab", refuri=address, internal=False)
        found += [between.copy(), opened]
    return found


class Task(SphinxDirective):
    """The arguments are names of answers that one of the chapter's exercises asks for."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        names = self.arguments[0].split()
        offers = [o for o in offers_on(self.env) if o.tasks.keys() >= {*names}]
        if not offers:
            raise self.error(
                f"{{task}}: no exercise of this chapter asks for {' and '.join(names)}"
            )
        offer = offers[0]
        found = list(dict.fromkeys(offer.tasks[name] for name in names))
        line = nodes.paragraph(classes=["can-do"])
        line += nodes.Text(f"You can now do task{'s' if len(found) > 1 else ''} ")
        for place, name in enumerate(found):
            number, _, title = name.partition(". ")
            between = "" if place == 0 else " and " if place == len(found) - 1 else ", "
            line += nodes.Text(f"{between}{number} ({title})")
        where, messages = self.parse_inline(
            f" of {{ref}}`exercise {offer.number} <{offer.section}>`."
        )
        line += where
        return [line, *messages]


class ExerciseHours(SphinxRole):
    """The role {exercise-hours}: its text is numbers of chapters and names of exercises."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The hours of these exercises together."""
        hours = 0
        for word in self.text.split():
            chapter, _, rest = word.partition("_")
            offers = offers_of(Path(self.env.srcdir), chapter if rest else f"ch{word}")
            found = [offer.hours for offer in offers if not rest or offer.name == word]
            if not found:
                raise CourseError(f"{{exercise-hours}}: there is no exercise {word!r}.")
            hours += sum(found)
        return [nodes.Text(str(hours))], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("task", Task)
    app.add_role("exercise-hours", ExerciseHours())
    # before the files to download are collected
    app.connect("doctree-read", add_bar, priority=300)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
