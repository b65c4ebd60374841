"""Sphinx extension: formulas that can be read without a script, and that keep their punctuation.

MathJax sets the formulas of a page. Where no script runs, a browser shows the MathML that stands in a
<noscript> before each of them, and the style sheet hides the TeX.
"""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.ext import mathjax
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.writers.html import HTML5Translator

# what a browser would move to a line of its own: MathJax's formulas are blocks within the line
BEFORE = re.compile(r"[(\[“‘\"'/]+$")
AFTER = re.compile(r"^[^\s-]+-?|^-+")

logger = logging.getLogger(__name__)


def without_script(node: nodes.math | nodes.math_block) -> str:
    """A formula as MathML in a <noscript>; a warning for TeX that can't be converted."""
    block = isinstance(node, nodes.math_block)
    try:
        made = convert(node.astext(), display="block" if block else "inline")
    except Exception as error:
        # a dozen kinds of errors, all of them about the TeX
        logger.warning("no MathML for %r: %r", node.astext(), error, location=node)
        return ""
    if block:
        # a box of its own can be scrolled where the formula is wider than the screen
        made = f'<div class="formula">{made}</div>'
    return f"<noscript>{made}</noscript>"


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(without_script(node))
    mathjax.html_visit_math(self, node)


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    self.body.append(without_script(node))
    mathjax.html_visit_displaymath(self, node)


class KeepPunctuation(SphinxTransform):
    """Put a formula and the punctuation that touches it into one inline node, which does not break."""

    default_priority = 800

    def apply(self, **kwargs: Any) -> None:
        """Change the document in place."""
        for formula in list(self.document.findall(nodes.math)):
            parent = formula.parent
            place = parent.index(formula)
            before = _cut(parent, place - 1, BEFORE) if place else ""
            after = _cut(parent, place + 1, AFTER)
            if before or after:
                joined = nodes.inline(classes=["unbroken"])
                parent.replace(formula, joined)
                joined += [nodes.Text(before), formula, nodes.Text(after)]


def _cut(parent: nodes.Element, place: int, pattern: re.Pattern[str]) -> str:
    """Cut what a pattern finds off a text among a node's children, and return it."""
    text = parent[place] if place < len(parent) else None
    found = pattern.search(text) if isinstance(text, nodes.Text) else None
    if not found:
        return ""
    parent[place] = nodes.Text(text[: found.start()] + text[found.end() :])
    return found[0]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(nodes.math, html=(visit_math, None), override=True)
    app.add_node(nodes.math_block, html=(visit_math_block, None), override=True)
    app.add_transform(KeepPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
