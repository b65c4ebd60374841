"""Sphinx extension: a book that is complete without a network and whose cells are never stale."""

import os
import shutil
from pathlib import Path
from typing import Any

from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style
from sphinx.application import Sphinx
from sphinx.config import Config

VENDOR = Path(__file__).parent.parent / "_vendor"


class ByAuthor(Style):
    """Bibliography sorted by author and year, as the text cites it."""

    default_sorting_style = "author_year_title"


def add_vendored_scripts(app: Sphinx) -> None:
    """Copy the vendored MathJax to `_static`.

    Jupyter Book loads every script that it finds in its static folders on every page. MathJax
    breaks when loaded twice, so its folder is added here, after Jupyter Book has looked.
    """
    app.config.html_static_path.append(str(VENDOR))


def use_keyed_cache(app: Sphinx, config: Config) -> None:
    """Keep executed cells in the folder that the builder names after the code they import."""
    config.nb_execution_cache_path = os.environ.get("ATTENTION_BOOK_CACHE", "")


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
        shutil.copyfile(executed, copy)
        context["ipynb_source"] = f"{page}.ipynb"


def setup(app: Sphinx) -> dict[str, bool]:
    register_plugin("pybtex.style.formatting", "by_author", ByAuthor)
    app.connect("config-inited", use_keyed_cache)
    app.connect("builder-inited", add_vendored_scripts)
    app.connect("html-page-context", plain_citation_roles)
    # before the theme makes its download button
    app.connect("html-page-context", offer_notebook, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
