"""Sphinx extension: how long pages take to read, and how hard they are.

The line stands under the title of each page of a chapter. The time is computed from the words of text and
visible code; the difficulty is the line `difficulty:` of the page's front matter. On other pages the role
{reading-minutes}`3` stands for the minutes of all pages of chapter 3.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from autograder.publish.page_source import read_page

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
    minutes = read_page(Path(app.env.doc2path(page))).minutes()
    words = f"Reading time: about {minutes} minute{'s' if minutes > 1 else ''}."
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


class ReadingMinutes(SphinxRole):
    """The role {reading-minutes}: its text is a chapter's number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """The minutes of the chapter's pages together; a warning for a chapter without pages."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        pages = list(folder.glob(f"ch{self.text}_*.md"))
        for page in pages:
            self.env.note_dependency(page)
        if not pages:
            logger.warning("there is no chapter %r", self.text, location=self.get_location())
        return [nodes.Text(str(sum(read_page(page).minutes() for page in pages)))], []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("reading-minutes", ReadingMinutes())
    app.connect("doctree-read", add_line)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
