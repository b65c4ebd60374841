"""Sphinx extension: a symbol or name leads to its row on the notation page where a section first uses it."""

import re

from docutils import nodes
from folds import fold_summary
from roles import without_roles
from sphinx.application import Sphinx

NOTATION = "book/notation"
SYMBOL = re.compile(r"(\\[A-Za-z]+|[A-Za-z])(?:_(?:\{(.+)\}|(\\text\{\w+\}|\w)))?")
STEP = re.compile(r"t([-+]1)?")
# of one letter, perhaps with an index: what it means depends on the function
SHORT = re.compile(r"\w(_\w)?")
POSITION = re.compile(r"[ijs]([-+]1)?|[it],? ?[ijs]")


def symbol(tex: str) -> str | None:
    """The symbol that a formula consists of, its index made `t` for steps and `i` for positions.

    So `h_{i-1}` and `h_j` are the symbol `h_i`, while `W_q`, `W_Q` and `W` are three. None for a formula
    that is more than a symbol.
    """
    found = SYMBOL.fullmatch(re.sub(r"^\{(.*)\}$", r"\1", without_roles(tex.strip())))
    if not found:
        return None
    below = re.sub(r"\\text\{(\w+)\}", r"\1", found[2] or found[3] or "")
    below = "t" if STEP.fullmatch(below) else "i" if POSITION.fullmatch(below) else below
    return f"{found[1]}_{below}" if below else found[1]


def called(node: nodes.math | nodes.literal) -> str | None:
    """The symbol or the name in code that a formula or a piece of code is, None when it is more."""
    if isinstance(node, nodes.math):
        return symbol(node.astext())
    return None if SHORT.fullmatch(node.astext()) else node.astext()


def rows(notation: nodes.document) -> dict[str, nodes.row]:
    """The notation page's symbols and names, each with its first row in the tables of letters and symbols."""
    found: dict[str, nodes.row] = {}
    for table in notation.findall(nodes.table):
        head, *body = table.findall(nodes.row)
        if head[0].astext() in ("Letter", "Symbol"):
            for row in body:
                for node in [*row[0].findall(nodes.math), *row[1].findall(nodes.literal)]:
                    if name := called(node):
                        found.setdefault(name, row)
    return found


def anchor(name: str) -> str:
    """The id of a symbol or name on the notation page."""
    return "symbol-" + re.sub(r"\W|_", "-", name).strip("-")


def mark_rows(app: Sphinx, doctree: nodes.document) -> None:
    """Give the rows of the notation page the ids that symbols lead to."""
    if app.env.docname == NOTATION:
        for name, row in rows(doctree).items():
            row[0]["ids"].append(anchor(name))


def link_symbols(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make the first use of each symbol in each section of a chapter a link, with its meaning as title.

    Only what is nothing but the symbol or name counts: in more than that it may mean something else.
    """
    if not page.startswith("book/ch"):
        return
    known = rows(app.env.get_doctree(NOTATION))
    notation = app.builder.get_relative_uri(page, NOTATION)
    chapter = next(doctree.findall(nodes.section))
    for section in [part for part in chapter if isinstance(part, nodes.section)]:
        linked = set()
        for node in [n for n in section.findall() if isinstance(n, nodes.math | nodes.literal)]:
            name = called(node)
            if name in linked or name not in known or _in_link_or_heading(node):
                continue
            linked.add(name)
            address, meaning = f"{notation}#{anchor(name)}", known[name][-1].astext()
            link = nodes.reference("", "", refuri=address, reftitle=meaning, internal=True)
            link["classes"].append("symbol")
            node.replace_self(link)
            link += node


def _in_link_or_heading(node: nodes.Node) -> bool:
    while node := node.parent:
        if isinstance(node, nodes.reference | nodes.title | fold_summary):
            return True
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", mark_rows)
    app.connect("doctree-resolved", link_symbols)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
