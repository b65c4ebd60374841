"""Sphinx extension: a symbol leads to its row on the notation page where a section first uses it."""

import re

from docutils import nodes
from sphinx.application import Sphinx

NOTATION = "book/notation"
SYMBOL = re.compile(r"(\\[A-Za-z]+|[A-Za-z])(?:_(?:\{(.+)\}|(\\text\{\w+\}|\w)))?")
STEP = re.compile(r"t([-+]1)?")
POSITION = re.compile(r"[ijs]([-+]1)?|[it],? ?[ijs]")


def symbol(tex: str) -> str | None:
    """The symbol that a formula consists of, its index made `t` for steps and `i` for positions.

    So `h_{i-1}` and `h_j` are the symbol `h_i`, while `W_q`, `W_Q` and `W` are three. None for a formula
    that is more than a symbol.
    """
    found = SYMBOL.fullmatch(tex.strip())
    if not found:
        return None
    below = re.sub(r"\\text\{(\w+)\}", r"\1", found[2] or found[3] or "")
    below = "t" if STEP.fullmatch(below) else "i" if POSITION.fullmatch(below) else below
    return f"{found[1]}_{below}" if below else found[1]


def rows(notation: nodes.document) -> dict[str, nodes.row]:
    """The notation page's symbols, each with the first row for it in the tables of letters and symbols."""
    found: dict[str, nodes.row] = {}
    for table in notation.findall(nodes.table):
        head, *body = table.findall(nodes.row)
        if head[0].astext() in ("Letter", "Symbol"):
            for row in body:
                for formula in row[0].findall(nodes.math):
                    found.setdefault(symbol(formula.astext()), row)
    return found


def anchor(name: str) -> str:
    """The id of a symbol on the notation page."""
    return "symbol-" + re.sub(r"\W|_", "-", name).strip("-")


def mark_rows(app: Sphinx, doctree: nodes.document) -> None:
    """Give the rows of the notation page the ids that symbols lead to."""
    if app.env.docname == NOTATION:
        for name, row in rows(doctree).items():
            row[0]["ids"].append(anchor(name))


def link_symbols(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make the first use of each symbol in each section of a chapter a link, with its meaning as title.

    Only a formula that is nothing but the symbol counts: in a longer one the letter may mean something else.
    """
    if not page.startswith("book/ch"):
        return
    known = rows(app.env.get_doctree(NOTATION))
    notation = app.builder.get_relative_uri(page, NOTATION)
    chapter = next(doctree.findall(nodes.section))
    for section in [part for part in chapter if isinstance(part, nodes.section)]:
        linked = set()
        for formula in list(section.findall(nodes.math)):
            name = symbol(formula.astext())
            if name in linked or name not in known or _in_link_or_title(formula):
                continue
            linked.add(name)
            address, meaning = f"{notation}#{anchor(name)}", known[name][-1].astext()
            link = nodes.reference("", "", refuri=address, reftitle=meaning, internal=True)
            link["classes"].append("symbol")
            formula.replace_self(link)
            link += formula


def _in_link_or_title(node: nodes.Node) -> bool:
    while node := node.parent:
        if isinstance(node, nodes.reference | nodes.title):
            return True
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", mark_rows)
    app.connect("doctree-resolved", link_symbols)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
