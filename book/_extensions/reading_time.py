"""Sphinx extension: roles for how long pages take to read.

{reading-minutes}`3 ch6_transformer` stands for the minutes of all pages of chapter 3 and of this page,
{reading-hours} for the same in hours, rounded. {working-minutes}`first_hour` adds to the minutes of reading a
page those of its tasks, as their lines `:minutes: 5` estimate them.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from autograder.publish.page_source import page_to_read

TASK_MINUTES = re.compile(r"^:minutes: (\d+)$", flags=re.MULTILINE)

logger = logging.getLogger(__name__)


class Minutes(SphinxRole):
    """A role whose text is chapters' numbers and pages' names. hours: whether to give hours, rounded."""

    def __init__(self, hours: bool = False) -> None:
        super().__init__()
        self.hours = hours

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
        minutes = sum(page_to_read(page).minutes() for page in pages)
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
    app.add_role("reading-minutes", Minutes())
    app.add_role("reading-hours", Minutes(hours=True))
    app.add_role("working-minutes", WorkingMinutes())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
