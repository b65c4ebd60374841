"""Formulas on feedback and grading pages as MathML, which a browser shows without script or network."""

from __future__ import annotations

import re

import nh3
from latex2mathml.converter import convert
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode

# code first: a dollar in it is no formula
FORMULA = re.compile(
    r"(?P<code>```.*?```|`[^`\n]*`)|\$\$(?P<display>.+?)\$\$|(?<![\\$])\$(?P<inline>[^$`\n]+?)\$(?!\d)",
    flags=re.DOTALL,
)
TAGS = {
    "math",
    "mrow",
    "mi",
    "mn",
    "mo",
    "ms",
    "mtext",
    "mspace",
    "msup",
    "msub",
    "msubsup",
    "mfrac",
    "msqrt",
    "mroot",
    "mover",
    "munder",
    "munderover",
    "mtable",
    "mtr",
    "mtd",
    "mstyle",
    "mpadded",
    "mphantom",
    "menclose",
}
ATTRIBUTES = {
    "*": {"mathvariant", "stretchy", "fence", "form", "separator", "lspace", "rspace", "width"},
    "math": {"display"},
    "mo": {"minsize", "maxsize", "movablelimits", "largeop"},
    "mtable": {"columnalign", "rowspacing", "columnspacing"},
    "mtd": {"columnalign"},
    "mover": {"accent"},
    "mstyle": {"displaystyle", "scriptlevel"},
}


def with_mathml(source: str) -> str:
    """Markdown with its TeX formulas as MathML; what can't be converted stays as it is."""

    def mathml(match: re.Match) -> str:
        if match["code"]:
            return match[0]
        display = "block" if match["display"] else "inline"
        try:
            made = convert(match["display"] or match["inline"], display=display)
        except Exception:
            # TeX of a student's own: any of a dozen errors
            return match[0]
        return nh3.clean(made, tags=TAGS, attributes=ATTRIBUTES).replace("\n", " ")

    return FORMULA.sub(mathml, source)


class Formulas(Preprocessor):
    """Step of turning a notebook into HTML: formulas that need no script."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Convert the formulas of a Markdown cell."""
        if cell.cell_type == "markdown":
            cell.source = with_mathml(cell.source)
        return cell, resources
