"""Sphinx extension: the page on which readers see what they have read, answered and done.

`{progress}` is a table of the first hour and the chapters' pages with the number of predictions, questions and
tasks on each; _static/memory.js fills in what this browser remembers. The foot of each of these pages says where
that is kept.
"""

import html
from pathlib import Path

from contents import number_of
from docutils import nodes
from exercise_bar import chapter_of, offers_of
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from autograder.publish.practice import BLOCK

PAGE, HOUR = "book/progress", "book/first_hour"
HEADS = ("Page", "Read", "Predicted", "Right", "Tasks here", "Exercise")
KINDS = ("predict", "quiz")


class progress(nodes.General, nodes.Element):
    """Where the table stands, until all pages have been counted."""


class Progress(SphinxDirective):
    """The table."""

    def run(self) -> list[nodes.Node]:
        return [progress()]


def row(app: Sphinx, page: str, first: str) -> str:
    """A page's row of the table. first: the first page of its chapter, which stands for the exercises."""
    offers = offers_of(Path(app.srcdir), chapter_of(page)) if page == first else ()
    counted = {kind: app.env.metadata[page].get(kind, 0) for kind in KINDS}
    told = "".join(f' data-{kind}="{number}"' for kind, number in counted.items())
    names = " ".join(offer.name for offer in offers)
    exercises = f' data-exercises="{names}"' if offers else ""
    tasks = BLOCK.findall(Path(app.env.doc2path(page)).read_text(encoding="utf-8"))
    told += f' data-tasks="{" ".join(map("/".join, tasks))}"'
    title = html.escape(number_of(app.env, page) + app.env.titles[page].astext())
    address = app.builder.get_relative_uri(PAGE, page)
    cells = [
        "–",
        *map(str, counted.values()),
        str(len(tasks) or ""),
        "; ".join(f"Exercise {offer.number}" for offer in offers),
    ]
    return (
        f'<tr data-page="{Path(page).name}"{told}{exercises}>'
        f'<th scope="row"><a class="reference internal" href="{address}">{title}</a></th>'
        + "".join(
            f'<td data-kind="{kind}">{words}</td>'
            for kind, words in zip(("read", *KINDS, "tasks", "done"), cells, strict=True)
        )
        + "</tr>"
    )


def fill_table(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make the table, when all pages have been read."""
    for node in list(doctree.findall(progress)):
        below = app.env.toctree_includes
        firsts = [name for name in below if chapter_of(name)]
        firsts.sort(key=lambda name: int(chapter_of(name).removeprefix("ch")))
        names = [(name, first) for first in firsts for name in (first, *below.get(first, ()))]
        rows = [row(app, *name) for name in [(HOUR, ""), *names] if name[0] in app.env.all_docs]
        heads = "".join(f'<th scope="col">{words}</th>' for words in HEADS)
        table = (
            f'<div class="results progress-table"><table class="table"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>"
        )
        node.replace_self(nodes.raw("", table, format="html"))


def say_where_it_is_kept(app: Sphinx, doctree: nodes.document) -> None:
    """End the first hour and chapters' pages with a line that a script puts the reader's mark into."""
    if app.env.docname != HOUR and not chapter_of(app.env.docname):
        return
    where = addnodes.pending_xref(
        "",
        nodes.inline("", "your progress"),
        refdoc=app.env.docname,
        refdomain="std",
        reftype="doc",
        reftarget=f"/{PAGE}",
        refexplicit=True,
        refwarn=True,
    )
    line = nodes.paragraph("", "", classes=["kept-here"])
    line += [
        nodes.Text("Marks, guesses and answers stay in this browser. See "),
        where,
        nodes.Text("."),
    ]
    next(doctree.findall(nodes.section)).append(line)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(progress)
    app.add_directive("progress", Progress)
    app.connect("doctree-read", say_where_it_is_kept)
    app.connect("doctree-resolved", fill_table)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
