"""Sphinx extension: a term of the glossary shows its meaning where it is used.

The first sentence of each definition that a page's links lead to is written into the page, hidden; it
describes the link to screen readers, and _static/definitions.js shows it on hover, on focus and on a tap.
Without JavaScript the link leads to the glossary as always.
"""

import html
import re

from docutils import nodes
from roles import without_roles
from sphinx import addnodes
from sphinx.application import Sphinx

from autograder.display.mathml import with_mathml

GLOSSARY = "book/glossary"
SOURCE = "\ufffc"  # stands for a cited source, with which a sentence may begin
SENTENCE_END = re.compile(rf"(?<=[.!?])\s+(?=[A-Z$({SOURCE}])")


def first_sentence(definition: nodes.definition) -> str:
    """The first sentence of a definition as HTML: text, and formulas as MathML, without sources."""
    paragraph = next(definition.findall(nodes.paragraph), None)
    if paragraph is None:
        return ""
    text = SENTENCE_END.split(" ".join(_text(paragraph).split()))[0].replace(SOURCE, "")
    # a source in brackets has left a space before the full stop
    text = re.sub(r"\s+([.,;:])", r"\1", text)
    return with_mathml(html.escape(text, quote=False))


def _text(node: nodes.Node) -> str:
    if isinstance(node, nodes.math):
        return f"${without_roles(node.astext())}$"
    if isinstance(node, addnodes.pending_xref) and node.get("refdomain") == "cite":
        return SOURCE
    if isinstance(node, nodes.Text):
        return node.astext()
    return "".join(_text(child) for child in node.children)


def describe_terms(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give the page's links to the glossary their descriptions."""
    if GLOSSARY not in app.env.found_docs or page == GLOSSARY:
        return
    meanings = {
        term_id: definition
        for item in app.env.get_doctree(GLOSSARY).findall(nodes.definition_list_item)
        for definition in item.findall(nodes.definition)
        for term in item.findall(nodes.term)
        for term_id in term["ids"]
    }
    used = {}
    for link in doctree.findall(nodes.reference):
        term_id = link.get("refid") or link.get("refuri", "").rpartition("#")[2]
        is_term = any(
            "std-term" in child.get("classes", ())
            for child in link.children
            if isinstance(child, nodes.Element)
        )
        if is_term and term_id in meanings and (sentence := first_sentence(meanings[term_id])):
            used[term_id] = sentence
            link["classes"].append("term")
    if used:
        entries = "".join(
            f'<span id="meaning-{term_id}">{sentence}</span>' for term_id, sentence in used.items()
        )
        doctree += nodes.raw("", f'<div id="meanings" hidden>{entries}</div>', format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", describe_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
