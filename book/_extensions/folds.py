"""Sphinx extension: parts of a page that open with a click, for the extensions that fold something.

A fold is a <details>, which opens without a script, on paper (print.js) and when an address leads into it
(_static/folds.js). Switches under the page's title open all sections in depth, or everything on the page,
or on all pages.
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


SWITCH = '<label><input type="checkbox" role="switch" data-opens="{opens}"> <span>{words}</span></label> '


def add_switches(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the switches under the title of a chapter's page, when all its folds have been made."""
    title = next(doctree.findall(nodes.title), None)
    found = {name for node in doctree.findall(fold) for name in node["classes"]}
    if (
        title is None
        or not page.startswith("book/ch")
        or not found & {"in-depth", "predict-answer"}
    ):
        return
    switches = {"page": "everything on this page", "book": "everything on all pages"}
    if "in-depth" in found:
        switches = {"depth": "sections in depth", **switches}
    shown = "".join(SWITCH.format(opens=name, words=words) for name, words in switches.items())
    place = title.parent.index(title) + 1
    while is_below_title(title.parent[place]):
        place += 1
    line = f'<p class="open-folds" role="group" aria-label="Show what is folded">Show: {shown}</p>'
    title.parent.insert(place, nodes.raw("", line, format="html"))


def is_below_title(node: nodes.Node) -> bool:
    """Whether a node belongs to the lines under a page's title."""
    if not isinstance(node, nodes.Element):
        return False
    line = {"reading-time", "exercise-bar"} & {*node.get("classes", ())}
    return isinstance(node, nodes.Invisible) or bool(line)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(fold, html=(visit_fold, depart_fold))
    app.add_node(fold_summary, html=(visit_fold_summary, depart_fold_summary))
    # after the sections in depth
    app.connect("doctree-resolved", add_switches, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
