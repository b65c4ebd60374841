"""Sphinx extension: what every page loads of the book's own, in two files, and nothing that it doesn't use.

Style sheets and scripts are written as files of their own in _static/; a build joins them, so that a page makes
two requests for them. Each script has a scope of its own.
"""

import base64
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

STATIC = Path(__file__).parent.parent / "_static"
FACES = STATIC.parent / "_vendor" / "faces"
# in the order in which they take effect
SHEETS = ("face.css", "search.css", "book.css", "boxes.css", "diagrams.css", "print.css")
SCRIPTS = ("folds.js", "memory.js", "definitions.js", "search.js", "print.js")
JOINED_SHEET, JOINED_SCRIPT = "course.css", "course.js"
# files of sphinx-design, and what a page has that needs them
WHERE_USED = {
    "_static/sphinx-design.min.css": 'class="sd-',
    "_static/design-tabs.js": 'class="sd-tab-',
}


def faces() -> str:
    """The rules for the faces, which hold their files."""
    rules = ["/*! Source Serif, Source Sans, Source Code: Adobe, SIL OFL 1.1, see faces/LICENSE */"]
    for path in sorted(FACES.glob("*.woff2")):
        face, _, cut = path.stem.partition("-latin-")
        weight, _, style = cut.partition("-")
        font = base64.b64encode(path.read_bytes()).decode()
        rules.append(
            f'@font-face{{font-family:"{face.replace("-", " ").title()}";font-style:{style};'
            f"font-display:swap;font-weight:{weight.replace('wght', '200 900')};"
            f"src:url(data:font/woff2;base64,{font})}}"
        )
    return "\n".join(rules)


def joined_sheet() -> str:
    """All style sheets."""
    return "\n".join([faces(), *((STATIC / name).read_text(encoding="utf-8") for name in SHEETS)])


def joined_script() -> str:
    """All scripts, each in a function."""
    texts = [(STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return "\n".join(f"(() => {{\n{text}}})();\n" for text in texts)


def write_joined(app: Sphinx) -> None:
    """Write both files, before a page asks for their digests."""
    if not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JOINED_SHEET).write_text(joined_sheet(), encoding="utf-8")
    (folder / JOINED_SCRIPT).write_text(joined_script(), encoding="utf-8")


def leave_out_unused(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Let a page load nothing of sphinx-design that it has no use for."""
    body = context.get("body", "")
    for kind in ("css_files", "script_files"):
        context[kind][:] = [
            file for file in context[kind] if WHERE_USED.get(str(file.filename), "") in body
        ]


def remove_parts(app: Sphinx, exception: Exception | None) -> None:
    """Take away what Sphinx has copied of the files that are joined, and the source maps of the theme.

    The maps are for those who change the theme; they're as large as everything else of it together.
    """
    static = Path(app.outdir) / "_static"
    parts = (static / name for name in (*SHEETS, *SCRIPTS))
    for path in (*parts, *static.rglob("*.map"), *static.glob("faces/*.woff2")):
        path.unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_css_file(JOINED_SHEET, priority=800)  # after those of others
    app.add_js_file(JOINED_SCRIPT, loading_method="defer")
    # a browser would load them only when it has laid out the first words, which then move
    app.add_js_file(None, body="document.fonts.forEach(face => face.load())")
    app.connect("builder-inited", write_joined)
    app.connect("html-page-context", leave_out_unused)
    app.connect("build-finished", remove_parts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
