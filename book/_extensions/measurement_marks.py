"""Sphinx extension: a small mark in captions of what trained networks have done, which links to *How we measure*.

That page says once, for all of them, how rates, seeds and stored results work.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

PAGE = "book/how_we_measure"
CAPTION = re.compile(r"(<(caption|figcaption)>)(.*?)(</\2>)", flags=re.DOTALL)
OF_NETWORKS = re.compile(r"\b(?:networks|seeds|best rates?|learning rates?)\b")
MARK = (
    ' <a class="reference internal" href="{}" title="How we measure">◦'
    '<span class="visually-hidden">How we measure</span></a>'
)


def mark_captions(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Add the mark where a caption or a table's head speaks of networks, seeds or rates."""
    if not page.startswith("book/ch") or PAGE not in app.env.all_docs:
        return
    mark = MARK.format(app.builder.get_relative_uri(page, PAGE))
    for node in doctree.findall(nodes.raw):
        text = node.astext()
        heads = " ".join(re.findall(r'<th scope="col">(.*?)</th>', text))

        def marked(found: re.Match[str], heads: str = heads) -> str:
            is_measured = OF_NETWORKS.search(f"{found[3]} {heads}")
            return f"{found[1]}{found[3]}{mark if is_measured else ''}{found[4]}"

        if node.get("format") == "html":
            node.clear()
            node += nodes.Text(CAPTION.sub(marked, text))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", mark_captions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
