"""Sphinx extension: a book that is complete without a network."""

import base64
import io
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
from fontTools import subset
from fontTools.ttLib import TTFont
from pybtex.plugin import find_plugin, register_plugin
from pybtex.style.formatting.plain import Style
from roles import without_roles
from sphinx.application import Sphinx

VENDOR = Path(__file__).parent.parent / "_vendor"

ICON_RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+) ?"\}')
ICON_NAME = re.compile(r"\bfa-([a-z0-9-]+)")


class ByAuthor(Style):
    """Bibliography sorted by author and year, as the text cites it."""

    default_sorting_style = "author_year_title"


def add_vendored_files(app: Sphinx) -> None:
    """Copy what is vendored to `_static`.

    Jupyter Book loads every script that it finds in its static folders on every page. These are for some
    pages, so their folder is added here, after Jupyter Book has looked.
    """
    app.config.html_static_path.append(str(VENDOR))


def plain_citation_roles(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Take the roles off the bibliography's entries: screen readers stumble over their nesting."""
    if "citation-list" in context.get("body", ""):
        body = context["body"].replace(' role="doc-biblioentry"', "")
        context["body"] = body.replace('<div role="list" class="cit', '<div class="cit')


def offer_notebook(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Let an executed page be downloaded as a notebook; the theme does it only with launch buttons."""
    executed = Path(app.outdir).parent / "jupyter_execute" / f"{page}.ipynb"
    if executed.exists():
        copy = Path(app.outdir) / "_sources" / f"{page}.ipynb"
        copy.parent.mkdir(parents=True, exist_ok=True)
        notebook = nbformat.read(executed, as_version=4)
        # Every execution draws new ids, and the key of the cache (execution.py) is of no use to readers.
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number}"
            cell.source = without_roles(cell.source)
        notebook.metadata.get("kernelspec", {}).pop("imports", None)
        nbformat.write(notebook, copy)
        context["ipynb_source"] = f"{page}.ipynb"


def font_address(font: TTFont, characters: set[int]) -> str:
    """The glyphs of some characters as a font that fits into a style sheet.

    It has no name: a licence may keep the name for the whole font. What a formula's large brackets and roots
    are made of is in it, too.

    Args:
        font: the whole font; it is cut.
        characters: code points; those the font lacks, such as the logos of brands, are left out.

    Returns:
        The font's address, which starts with `data:`.
    """
    subsetter = subset.Subsetter(subset.Options(name_IDs=[], layout_features=[]))
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    font.flavor = "woff"
    file = io.BytesIO()
    font.save(file)
    return "data:font/woff;base64," + base64.b64encode(file.getvalue()).decode()


def keep_icons_in_use(app: Sphinx, exception: Exception | None) -> None:
    """Leave of the theme's 2000 icons those that pages and styles show.

    The theme brings them as a script of 1.5 MB, which the template leaves out, and as fonts. The
    icons in use become a font of a few kilobytes in the style sheet itself, so that no page waits
    for them and a page opened from disk has them, too. Screen readers do not read icons out.
    """
    if exception or app.builder.name != "html":
        return
    static = Path(app.outdir) / "_static"
    pages = []
    for path in Path(app.outdir).rglob("*.html"):
        # the theme's first script asks for the reader's; without a script, "auto" would have no colours
        text = path.read_text(encoding="utf-8").replace(
            'data-theme="auto"', 'data-theme="light"', 1
        )
        path.write_text(text, encoding="utf-8")
        pages.append(text)
    names = {name for page in pages for name in ICON_NAME.findall(page)}

    def rule_if_in_use(rule: re.Match[str]) -> str:
        return rule[0] if names & {*ICON_NAME.findall(rule[1])} else ""

    sheets = {path: path.read_text(encoding="utf-8") for path in (static / "styles").glob("*.css")}
    for path, sheet in sheets.items():
        sheet = ICON_RULE.sub(rule_if_in_use, sheet)
        sheet = re.sub(r"@font-face\{[^}]*Font Awesome[^}]*\}", "", sheet)
        sheet = re.sub(r"Font Awesome\\? 6 Free", "Icons", sheet)
        sheets[path] = re.sub(
            r'content:("\\[ef][0-9a-f]{3}"|var\(--pst-icon-[\w-]+\))', r'\g<0>;\g<0>/""', sheet
        )
    everything = "".join(sheets.values())
    characters = {ord(character) for character in re.findall("[\ue000-\uf8ff]", everything)}
    characters |= {int(code, 16) for code in re.findall(r'"\\([ef][0-9a-f]{3})"', everything)}
    icons = static / "vendor/fontawesome/webfonts/fa-solid-900.ttf"
    font = font_address(TTFont(icons, recalcTimestamp=False), characters)
    theme = static / "styles" / "pydata-sphinx-theme.css"
    sheets[theme] += (
        "/*! Icons: some of Font Awesome Free 6.5.2, copyright 2024 Fonticons, Inc., "
        "https://fontawesome.com/license/free, icons CC BY 4.0, font SIL OFL 1.1 */"
        f"@font-face{{font-family:Icons;font-weight:900;src:url({font})}}"
    )
    for path, sheet in sheets.items():
        path.write_text(sheet, encoding="utf-8")
    shutil.rmtree(static / "vendor")
    for path in (static / "scripts").glob("fontawesome.js*"):
        path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    register_plugin("pybtex.style.formatting", "by_author", ByAuthor)
    # each citation looks it up, which takes 7 ms unless it's registered
    backend = find_plugin("pybtex.backends", "docutils")
    register_plugin("pybtex.backends", "docutils", backend, force=True)
    app.connect("builder-inited", add_vendored_files)
    app.connect("html-page-context", plain_citation_roles)
    # before the theme makes its download button
    app.connect("html-page-context", offer_notebook, priority=400)
    app.connect("build-finished", keep_icons_in_use)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
