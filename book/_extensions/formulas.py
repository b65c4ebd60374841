"""Sphinx extension: formulas as MathML, which a browser sets without a script, and their punctuation.

Few systems have a font with the measures that MathML needs. A part of STIX Two Math, with the characters that
the book's formulas use, stands in a style sheet of its own, which only pages with formulas load. It's written
into the sheet itself, so that a page opened from disk has it, too.
"""

import html
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert
from offline import font_address
from roles import as_colours
from spacing import spaced
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.writers.html import HTML5Translator

FONT = Path(__file__).parent.parent / "_fonts" / "STIXTwoMath.woff"
SHEET = "formulas.css"
# no formula has it as a text of its own
ROOT = ord("√")
MATH = re.compile(r"<math.*?</math>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
# what a browser shows for a letter of its own in a formula: italic letters, of which h stands elsewhere
ITALIC = {
    **{chr(ord("A") + i): 0x1D434 + i for i in range(26)},
    **{chr(ord("a") + i): 0x1D44E + i for i in range(26)},
    **{chr(0x391 + i): 0x1D6E2 + i for i in range(25)},
    **{chr(0x3B1 + i): 0x1D6FC + i for i in range(25)},
    "h": 0x210E,
    "∂": 0x1D715,
    "ϵ": 0x1D716,
    "ϑ": 0x1D717,
    "ϕ": 0x1D719,
    "ϱ": 0x1D71A,
    "ϖ": 0x1D71B,
}
# what a browser would move to a line of its own: a formula is a box within the line
BEFORE = re.compile(r"[(\[“‘\"'/]+$")
AFTER = re.compile(r"^[^\s-]+-?|^-+")

logger = logging.getLogger(__name__)


def mathml(node: nodes.math | nodes.math_block, display: str) -> str:
    """A formula as MathML; nothing, and a warning, for TeX that can't be converted."""
    try:
        # the environment is known by this name only
        tex = node.astext().replace("{aligned}", "{align*}")
        # the converter knows colours only: this one's name becomes a class
        made = convert(as_colours(tex), display=display)
        return spaced(made.replace("mathcolor=", "class="))
    except Exception as error:
        # a dozen kinds of errors, all of them about the TeX
        logger.warning("no MathML for %r: %r", node.astext(), error, location=node)
        return ""


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(f'<span class="math">{mathml(node, "inline")}</span>')
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    # a box that can be scrolled, by keyboard too, where the formula is wider than the screen
    self.body.append(f'<div class="math" tabindex="0">{mathml(node, "block")}</div>')
    raise nodes.SkipNode


def load_font(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Let a page with formulas load the sheet that holds their font."""
    if "<math" in context.get("body", ""):
        app.add_css_file(SHEET)


def formula_font() -> TTFont:
    """The whole font, with one size of the sign of a root: a browser leaves room for the widest."""
    font = TTFont(FONT, recalcTimestamp=False)
    variants = font["MATH"].table.MathVariants
    sizes = variants.VertGlyphConstruction[
        variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ROOT])
    ]
    sizes.MathGlyphVariantRecord = sizes.MathGlyphVariantRecord[:1]
    sizes.VariantCount, sizes.GlyphAssembly = 1, None
    return font


def write_font(app: Sphinx, exception: Exception | None) -> None:
    """Write the sheet, with the characters of all formulas that have been written."""
    if exception or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    pages = (path.read_text(encoding="utf-8") for path in folder.rglob("*.html"))
    used = {*"".join(html.unescape(TAG.sub("", made)) for p in pages for made in MATH.findall(p))}
    characters = {ord(character) for character in used}
    characters |= {ROOT, *(ITALIC[character] for character in used & {*ITALIC})}
    sheet = (
        "/*! Characters of STIX Two Math, copyright 2001-2021 The STIX Fonts Project Authors "
        "(https://github.com/stipub/stixfonts), SIL OFL 1.1 */"
        f"@font-face{{font-family:Formulas;src:url({font_address(formula_font(), characters)})}}"
        "math{font-family:Formulas,math;font-size:1.1em}"
    )
    (folder / "_static" / SHEET).write_text(sheet, encoding="utf-8")
    shutil.copy(FONT.with_name("OFL.txt"), folder / "_static" / "formulas-OFL.txt")


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
    if text is None or not found:
        return ""
    parent[place] = nodes.Text(text[: found.start()] + text[found.end() :])
    return found[0]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.add_transform(KeepPunctuation)
    app.connect("html-page-context", load_font)
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
