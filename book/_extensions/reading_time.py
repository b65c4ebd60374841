"""Sphinx extension: how long pages take to read, and how hard they are.

The line stands under the title of each page of a chapter, and says which of the chapter's pages this is. The
time is computed from the words of text and visible code, of the core alone and with what is in depth; the
difficulty is the line `difficulty:` of the page's front matter. On other pages the role {reading-minutes}`3` stands for the minutes of all pages of
chapter 3, {core-minutes}`1 2 ch6_transformer` for those of the core of several chapters and pages, and
{reading-hours} and {core-hours} for the same in hours. {working-minutes}`first_hour` adds to the minutes of
reading a page those of its tasks, as their lines `:minutes: 5` estimate them.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from autograder.publish.page_source import minutes_of, page_to_read

TASK_MINUTES = re.compile(r"^:minutes: (\d+)$", flags=re.MULTILINE)
DIFFICULTIES = ("introductory", "intermediate", "advanced")

logger = logging.getLogger(__name__)


def add_line(app: Sphinx, doctree: nodes.document) -> None:
    """Put the line under the title of a chapter."""
    page = app.env.docname
    if not page.startswith("book/ch"):
        return
    title = next(doctree.findall(nodes.title), None)
    if title is None:
        return
    path = Path(app.env.doc2path(page))
    whole, core = page_to_read(path).minutes(), core_minutes([path])
    words = f"Reading time: about {_minutes(core)}."
    if core != whole:
        words = f"Reading time: about {_minutes(core)} for the core, {_minutes(whole)} in all."
    difficulty = app.env.metadata[page].get("difficulty")
    if difficulty in DIFFICULTIES:
        words += f" Difficulty: {difficulty}."
    elif difficulty is not None:
        logger.warning(
            "difficulty is %r: it has to be one of %s",
            difficulty,
            ", ".join(DIFFICULTIES),
            location=page,
        )
    line = nodes.paragraph("", words, classes=["reading-time"])
    title.parent.insert(title.parent.index(title) + 1, line)


def _minutes(number: int) -> str:
    return f"{number} minute{'' if number == 1 else 's'}"


def core_minutes(pages: Iterable[Path]) -> int:
    """Minutes to read the core of several pages together."""
    return minutes_of(sum(page_to_read(page).by_depth()[0].words() for page in pages))


def add_place(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add which page of how many this is, and the minutes of the whole chapter, once the order is known."""
    below = {
        name: others
        for name, others in app.env.toctree_includes.items()
        if name.startswith("book/ch")
    }
    first = next((name for name, others in below.items() if page in others), page)
    pages = [first, *below.get(first, ())]
    if not page.startswith("book/ch") or len(pages) == 1:
        return
    paths = [Path(app.env.doc2path(name)) for name in pages]
    whole, core = sum(page_to_read(path).minutes() for path in paths), core_minutes(paths)
    words = (
        f"Page {pages.index(page) + 1} of {len(pages)} of this chapter, which takes "
        f"{_minutes(whole)} in all, its core {core}. "
    )
    for line in doctree.findall(nodes.paragraph):
        if "reading-time" in line["classes"]:
            line.insert(0, nodes.Text(words))


class Minutes(SphinxRole):
    """A role whose text is chapters' numbers and pages' names.

    core: whether to count the core alone; hours: whether to give hours, rounded, in place of minutes.
    """

    def __init__(self, core: bool, hours: bool = False) -> None:
        super().__init__()
        self.core, self.hours = core, hours

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The time of all of them together; a warning for what is no page."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        pages: set[Path] = set()
        for name in self.text.split():
            found = set(folder.glob(f"ch{name}_*.md" if name.isdigit() else f"{name}.md"))
            if not found:
                logger.warning("there is no chapter or page %r", name, location=self.get_location())
            pages |= found
        for page in pages:
            self.env.note_dependency(str(page))
        whole = sum(page_to_read(page).minutes() for page in pages)
        minutes = core_minutes(sorted(pages)) if self.core else whole
        return [nodes.Text(str(round(minutes / 60) if self.hours else minutes))], []


class WorkingMinutes(SphinxRole):
    """A role whose text is a page's name."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The minutes to read the page and to do its tasks, together."""
        page = Path(self.env.doc2path(self.env.docname)).parent / f"{self.text}.md"
        self.env.note_dependency(str(page))
        tasks = TASK_MINUTES.findall(page.read_text(encoding="utf-8"))
        return [nodes.Text(str(page_to_read(page).minutes() + sum(map(int, tasks))))], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("reading-minutes", Minutes(core=False))
    app.add_role("core-minutes", Minutes(core=True))
    app.add_role("reading-hours", Minutes(core=False, hours=True))
    app.add_role("core-hours", Minutes(core=True, hours=True))
    app.add_role("working-minutes", WorkingMinutes())
    app.connect("doctree-read", add_line)
    app.connect("doctree-resolved", add_place)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
