"""Sphinx extension: under a chapter's title stands how long it takes to read, and how hard it is.

The time is computed from the words of text and visible code. The difficulty is the line `difficulty:` of
the page's front matter.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

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


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", add_line)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
