"""Sphinx extension: an interactive figure of another page, with a caption of its own.

`{live-figure} ch1_translator alignment` shows the figure that the page's cells have made, by the name of
its script in `_widgets`. The content is the caption.
"""

import html

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)


class live_figure(nodes.General, nodes.Element):
    """Where the figure stands, until all pages have been read. page, kind: whose; caption: in words."""


class LiveFigure(SphinxDirective):
    """The arguments are a page of this folder and the figure's kind."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        page, kind = self.arguments
        folder = self.env.docname.rpartition("/")[0]
        node = live_figure(page=f"{folder}/{page}", kind=kind, caption=" ".join(self.content))
        self.set_source_info(node)
        return [node]


def copy_figures(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the figure there; a warning where the page has none of its kind."""
    for node in list(doctree.findall(live_figure)):
        source = app.env.get_doctree(node["page"])
        found = [
            raw.astext()
            for raw in source.findall(nodes.raw)
            if f'data-widget="{node["kind"]}"' in raw.astext()
        ]
        if not found:
            logger.warning("%s has no figure %r", node["page"], node["kind"], location=node)
            node.parent.remove(node)
            continue
        before, start, rest = found[0].partition("<figcaption>")
        _, end, after = rest.partition("</figcaption>")
        text = before + start + html.escape(node["caption"]) + end + after
        node.replace_self(nodes.raw("", text, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(live_figure)
    app.add_directive("live-figure", LiveFigure)
    app.connect("doctree-resolved", copy_figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
