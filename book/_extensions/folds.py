"""Sphinx extension: parts of a page that open with a click, for the extensions that fold something.

A fold is a <details>, which opens without a script, on paper (print.js) and when an address leads into it
(_static/folds.js).
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html import HTML5Translator


class fold(nodes.General, nodes.Element):
    """A <details>; its first child is a `fold_summary`."""


class fold_summary(nodes.General, nodes.TextElement):
    """What stands on a closed fold."""


def visit_fold(self: HTML5Translator, node: fold) -> None:
    """Begin the <details>."""
    self.body.append(self.starttag(node, "details", CLASS="fold"))


def depart_fold(self: HTML5Translator, node: fold) -> None:
    """End it."""
    self.body.append("</details>\n")


def visit_fold_summary(self: HTML5Translator, node: fold_summary) -> None:
    """Begin the <summary>."""
    self.body.append(self.starttag(node, "summary", ""))


def depart_fold_summary(self: HTML5Translator, node: fold_summary) -> None:
    """End it."""
    self.body.append("</summary>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(fold, html=(visit_fold, depart_fold))
    app.add_node(fold_summary, html=(visit_fold_summary, depart_fold_summary))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
