"""Sphinx extension: the first page of a chapter lists the chapter's other pages.

The sections of those pages are in the list, too, each with its labels as ids, but the style sheet shows
only the one that an address names. So an address of the first page with the label of a section that has
moved to another page, as in feedback that was written before, leads to the link to that section.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from autograder.book_index import plain_title

TOGGLE = '<summary><span class="toctree-toggle"'
TITLE = "The other pages of this chapter"


def labels(section: nodes.section) -> list[str]:
    """The ids of a section and of the sections in it."""
    return [name for part in section.findall(nodes.section) for name in part["ids"]]


def entry(text: str, address: str) -> nodes.list_item:
    """A link as an entry of a list."""
    link = nodes.reference("", plain_title(text), refuri=address, internal=True)
    return nodes.list_item("", nodes.paragraph("", "", link))


def list_pages(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add the list to the end of a chapter's page that has others under it in the contents."""
    others = app.env.toctree_includes.get(page, [])
    if not page.startswith("book/ch") or not others:
        return
    pages = nodes.bullet_list(classes=["chapter-pages"])
    taken = {name for node in doctree.findall(nodes.Element) for name in node.get("ids", [])}
    for other in others:
        address = app.builder.get_relative_uri(page, other)
        whole = next(app.env.get_doctree(other).findall(nodes.section))
        item = entry(app.env.titles[other].astext(), address)
        sections = nodes.bullet_list()
        for section in [part for part in whole if isinstance(part, nodes.section)]:
            title = section[section.first_child_matching_class(nodes.title)].astext()
            row = entry(title, f"{address}#{section['ids'][0]}")
            row["ids"] = [name for name in labels(section) if name not in taken]
            taken.update(row["ids"])
            sections += row
        item += sections
        pages += item
    chapter = next(doctree.findall(nodes.section))
    chapter += [nodes.rubric("", TITLE, classes=["chapter-pages-title"]), pages]


def name_toggles(app: Sphinx, exception: Exception | None) -> None:
    """Say what the arrows beside chapters in the contents open: the theme gives them an icon only."""
    if exception or app.builder.name != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        named = TOGGLE.replace("<summary>", '<summary aria-label="Pages of this chapter">')
        path.write_text(text.replace(TOGGLE, named), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", list_pages)
    app.connect("build-finished", name_toggles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
