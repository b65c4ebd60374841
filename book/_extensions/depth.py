"""Sphinx extension: sections that a reader may leave out, folded under their headings.

`{depth}` stands directly under a heading, and its argument is one sentence: the section's result, which
stays in sight. Under a page's title it says that the whole page is one to leave out, which is not folded.
All other sections are the core.
"""

import re
from pathlib import Path

from docutils import nodes
from folds import fold, fold_summary, is_below_title
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from autograder.publish.page_source import minutes_of, read_page

logger = logging.getLogger(__name__)


class depth(nodes.General, nodes.Element):
    """The sentence that stays in sight, until `fold_sections` has folded what follows."""


class Depth(SphinxDirective):
    """The argument is the sentence."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        sentence, messages = self.state.inline_text(self.arguments[0], self.lineno)
        mark = nodes.inline("", "In depth: ", classes=["depth-mark"])
        node = depth("", nodes.paragraph("", "", mark, *sentence, classes=["depth-result"]))
        self.set_source_info(node)
        return [node, *messages]


def mark_contents(app: Sphinx, doctree: nodes.document) -> None:
    """Mark sections in depth in the page's outline; a warning where the directive stands elsewhere."""
    page = app.env.docname
    app.env.metadata[page].pop("in_depth", None)
    found = set()
    for node in doctree.findall(depth):
        section = node.parent
        before = section.children[: section.index(node)] if section else []
        if not isinstance(section, nodes.section) or not all(map(_is_heading, before)):
            logger.warning("{depth} has to stand directly under a heading", location=node)
        elif isinstance(section.parent, nodes.document):
            app.env.metadata[page]["in_depth"] = True
        else:
            found.add(f"#{section['ids'][0]}")
    for link in app.env.tocs[page].findall(nodes.reference):
        if link.get("anchorname") in found:
            link["classes"].append("in-depth")


def _is_heading(node: nodes.Node) -> bool:
    return isinstance(node, nodes.title) or is_below_title(node)


def fold_sections(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Fold what follows each sentence, after all others have added to the sections."""
    marks = [node for node in doctree.findall(depth) if isinstance(node.parent, nodes.section)]
    if not marks:
        return
    _, parts = read_page(Path(app.env.doc2path(page))).by_depth()
    for node, part in zip(marks, parts, strict=True):
        section, sentence = node.parent, node[0]
        place = section.index(node)
        section.replace(node, sentence)
        if isinstance(section.parent, nodes.document):
            continue
        rest = section.children[place + 1 :]
        del section[place + 1 :]
        minutes = minutes_of(part.words())
        length = f"{minutes} minute{'s' if minutes > 1 else ''}"
        summary = fold_summary("", f"Read the section ({length})")
        section += fold("", summary, *rest, classes=["in-depth"])


def mark_pages(app: Sphinx, exception: Exception | None) -> None:
    """Mark pages in depth in the book's contents."""
    names = [page for page in app.env.found_docs if app.env.metadata[page].get("in_depth")]
    if exception or app.builder.name != "html" or not names:
        return
    pages = "|".join(re.escape(Path(name).name) for name in names)
    entry = re.compile(
        rf'(<li class="toctree-l\d[^"]*"><a class=")(reference internal" href="(?:[^"]*/)?(?:{pages})\.html")'
    )
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        path.write_text(entry.sub(r"\1in-depth \2", text), encoding="utf-8")


def show_subsections(app: Sphinx, config: Config) -> None:
    """List subsections in a page's outline, too, without a scroll to them."""
    if config.html_theme == "sphinx_book_theme":
        config.html_theme_options["show_toc_level"] = 2


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("folds")
    app.add_node(depth)
    app.add_directive("depth", Depth)
    app.connect("config-inited", show_subsections)
    # after Sphinx has collected the outline, and after the other extensions
    app.connect("doctree-read", mark_contents, priority=600)
    app.connect("doctree-resolved", fold_sections, priority=900)
    app.connect("build-finished", mark_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
