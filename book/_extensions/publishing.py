"""Sphinx extension: where the published book lies, and where its exercises can be opened."""

import re
from typing import Any

from docutils import nodes
from folds import fold
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config

from autograder.book_index import book_url, colab_url

NOTEBOOK = re.compile(r"exercises/(\w+)/\1\.ipynb$")


def say_where_it_lies(app: Sphinx, config: Config) -> None:
    """Give every page its canonical address, if the book is built for one."""
    config.html_baseurl = book_url()


def place_not_found(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Tell the page 404 where the book lies: it is shown under addresses of any depth."""
    if page == "404":
        context["book_url"] = book_url()


def offer_exercise(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """End a chapter's exercise section with the ways to get the notebook.

    The section is the one that links to it. Colab is offered when it can know the notebook's address.
    """
    for link in list(doctree.findall(addnodes.download_reference)):
        if not page.startswith("book/ch") or not (found := NOTEBOOK.search(link["reftarget"])):
            continue
        if "exercise-bar" in link.parent.parent["classes"]:
            continue
        section = link.parent
        while not isinstance(section, nodes.section):
            section = section.parent
        download = link.copy()
        download += nodes.Text("Download the notebook")
        ways = nodes.paragraph("", "", download, classes=["exercise-links"])
        address = colab_url(found[1])
        if address:
            opened = nodes.reference("", "Open in Colab", refuri=address, internal=False)
            ways += [nodes.Text(" · "), opened]
        # before the folds with the answers
        answers = section.first_child_matching_class(fold)
        section.insert(len(section) if answers is None else answers, ways)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", say_where_it_lies)
    app.connect("html-page-context", place_not_found)
    app.connect("doctree-resolved", offer_exercise)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
