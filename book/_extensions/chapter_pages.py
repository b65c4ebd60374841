"""Sphinx extension: the first page of a chapter lists the chapter's other pages.

The sections of those pages are in the list, too, each with its labels as ids, but the style sheet shows
only the one that an address names. So an address of the first page with the label of a section that has
moved to another page, as in feedback that was written before, leads to the link to that section.

Every page of chapter 3 lists in the same way the pages of no chapter that have a section labelled `ch3-...`.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from autograder.book_index import plain_title

TITLE = "The other pages of this chapter"
ELSEWHERE = "See also"

# a section's title, and its ids, the first of which is its address
Section = tuple[str, list[str]]


def sections_of(app: Sphinx, page: str) -> list[Section]:
    """The sections of a page, each with the ids of those in it, too."""
    whole = next(app.env.get_doctree(page).findall(nodes.section))
    return [
        (
            section[section.first_child_matching_class(nodes.title)].astext(),
            [name for part in section.findall(nodes.section) for name in part["ids"]],
        )
        for section in whole
        if isinstance(section, nodes.section)
    ]


def sections_elsewhere(app: Sphinx, chapter: str) -> dict[str, list[Section]]:
    """The sections with labels of a chapter, `ch3`, on pages of no chapter."""
    found: dict[str, list[Section]] = {}
    labels = app.env.domaindata["std"]["labels"]
    for name, (page, label, title) in sorted(labels.items()):
        if name.startswith(f"{chapter}-") and not page.startswith("book/ch"):
            found.setdefault(page, []).append((title, [label]))
    return found


def entry(text: str, address: str) -> nodes.list_item:
    """A link as an entry of a list."""
    link = nodes.reference("", plain_title(text), refuri=address, internal=True)
    return nodes.list_item("", nodes.paragraph("", "", link))


def list_pages(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add the lists to the end of a chapter's page."""
    chapter = re.match(r"book/(ch\d+)_", page)
    if not chapter:
        return
    below = app.env.toctree_includes.get(page, [])
    lists = {
        TITLE: {other: sections_of(app, other) for other in below},
        ELSEWHERE: sections_elsewhere(app, chapter[1]),
    }
    taken = {name for node in doctree.findall(nodes.Element) for name in node.get("ids", [])}
    end = next(doctree.findall(nodes.section))
    for words, pages in lists.items():
        listed = nodes.bullet_list(classes=["chapter-pages"])
        for other, sections in pages.items():
            address = app.builder.get_relative_uri(page, other)
            item = entry(app.env.titles[other].astext(), address)
            rows = nodes.bullet_list()
            for title, names in sections:
                row = entry(title, f"{address}#{names[0]}")
                row["ids"] = [name for name in names if name not in taken]
                taken.update(row["ids"])
                rows += row
            item += rows
            listed += item
        if pages:
            end += [nodes.rubric("", words, classes=["chapter-pages-title"]), listed]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", list_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
