"""Sphinx extension: addresses of sections that have moved lead on, without a script and from disk, too.

`book/moved.csv` has a row for each: the page on which it stood, its label there, and the label of the section
that says this now, on whatever page that is. A page that has gone becomes a page of links, as
_templates/moved.html says; on one that is still there, a link is shown when an address names its label.
"""

import csv
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from autograder.book_index import plain_title

TEMPLATE = "moved.html"


def moved_from(app: Sphinx, page: str) -> list[tuple[str, str, str]]:
    """The labels that once stood on a page, each with the address and the title of the section to go to.

    Raises KeyError for a new label that is nowhere.
    """
    labels = app.env.domaindata["std"]["labels"]
    found = []
    for old_page, old, new in rows(Path(app.srcdir)):
        if page == f"book/{old_page}":
            other, anchor, title = labels[new]
            address = f"{app.builder.get_relative_uri(page, other)}#{anchor}"
            found.append((old, address, plain_title(title)))
    return found


def rows(root: Path) -> list[list[str]]:
    """The rows of the table; none for a book without one. root: the folder with `book/`."""
    path = root / "book" / "moved.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.reader(file)][1:]


def add_pages(app: Sphinx) -> None:
    """Make a page for each that has gone."""
    for page, _, _ in rows(Path(app.srcdir)):
        if not (Path(app.srcdir) / "book" / f"{page}.md").exists():
            app.config.html_additional_pages[f"book/{page}"] = TEMPLATE


def fill_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Give the template its links."""
    if template == TEMPLATE:
        context["places"] = moved_from(app, page)


def lead_on(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add links to what has moved away from a page that is still there."""
    listed = nodes.bullet_list(classes=["moved-sections"])
    # the lists at the foot of the page have labels, too
    taken = {name for node in doctree.findall(nodes.Element) for name in node.get("ids", [])}
    for label, address, title in moved_from(app, page):
        if label in taken:
            continue
        link = nodes.reference("", title, refuri=address, internal=True)
        listed += nodes.list_item("", nodes.paragraph("", "", link), ids=[label])
    if listed.children:
        next(doctree.findall(nodes.section)).insert(1, listed)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", add_pages)
    app.connect("html-page-context", fill_page)
    app.connect("doctree-resolved", lead_on)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
