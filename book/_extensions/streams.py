"""Sphinx extension: what a cell prints in pieces stands on the page as it was printed.

The kernel sends printed text whenever it is flushed. myst-nb can merge such messages, but puts a line
break after each; so its merging is off, and the blocks that it makes of them are joined here.
"""

from docutils import nodes
from sphinx.application import Sphinx


def join_streams(app: Sphinx, doctree: nodes.document) -> None:
    """Join blocks of printed text that follow each other in the output of one cell."""
    for output in doctree.findall(
        lambda node: "cell_output" in getattr(node, "attributes", {}).get("classes", ())
    ):
        previous = None
        for block in list(output.children):
            if (
                previous is not None
                and _is_printed(block)
                and block["classes"] == previous["classes"]
            ):
                _write(previous, previous.astext() + block.astext())
                output.remove(block)
            else:
                previous = block if _is_printed(block) else None


def _is_printed(node: nodes.Node) -> bool:
    return isinstance(node, nodes.literal_block) and node["classes"][:1] == ["output"]


def _write(block: nodes.literal_block, text: str) -> None:
    block.rawsource = text
    block.children = []
    block += nodes.Text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", join_streams)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
