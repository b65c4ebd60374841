"""Sphinx extension: the book's own search, which finds sections and works from disk, too.

What can be found is written into a script, _static/search/sections.js: for each section and each term of
the glossary its title, text and code, taken from the article alone. Pages load _static/search.js only,
which loads the rest when somebody opens the search. Sphinx's own search is left out.

The words are looked up by MiniSearch 7.2.0: _vendor/minisearch/minisearch.js is the file dist/umd/index.js
of https://www.npmjs.com/package/minisearch.
"""

import html
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from latex2mathml.symbols_parser import convert_symbol
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment

SEARCH = Path(__file__).parent.parent / "_search"

NOTEBOOK = re.compile(r"exercises/ch(\d+)_\w+/\w+\.ipynb$")
CAPTION = re.compile(r"<figcaption[^>]*>(.*?)</figcaption>", flags=re.DOTALL)
TAG = re.compile(r"<[^>]*>")
TEX_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", flags=re.DOTALL)
# commands that only say how something is set, and those whose argument does
LAYOUT = {r"\left", r"\right", r"\big", r"\Big", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr"}
ENVIRONMENT = {r"\begin", r"\end"}
SETS_ARGUMENT = re.compile(r"\\(?!(?:[dt]?frac|sqrt|begin|end)\b)[A-Za-z]+(?=\{)")
# left by a source or a formula in the middle of a sentence
SPACE_BEFORE_SIGN = re.compile(r"\s+([.,;:?!])(?=\s|$)")

MOST_USES = 2  # sections that link to a term, for it to be a name of each

# what is about a page, and questions, most of whose choices are wrong
BESIDE = {"exercise-bar", "kept-here", "can-do", "quiz", "choice"}
NOT_TEXT = (
    nodes.Invisible,
    nodes.system_message,
    nodes.image,
    nodes.title,
    nodes.section,
    addnodes.toctree,
    addnodes.glossary,
)


@dataclass(frozen=True)
class Entry:
    """What can be found: a section or a term.

    depth: 0 for a page, 1 for a section of it, and so on.
    names: what it is also called, such as "Exercise 2" for the section that offers it.
    terms: the ids of the glossary's terms that it links to.
    """

    depth: int
    anchor: str
    title: str
    names: tuple[str, ...]
    text: str
    code: str
    terms: frozenset[str] = frozenset()


def plain_formula(tex: str) -> str:
    r"""A formula as a line of characters: `\frac{q^\top k}{\sqrt{d_k}}` is `(q^⊤ k)/√d_k`."""
    return _line(_group(iter(TEX_TOKEN.findall(SETS_ARGUMENT.sub("", tex)))))


def _group(tokens: Iterator[str]) -> str:
    """The tokens up to the end of a group."""
    found = ""
    for token in tokens:
        if token == "}":
            break
        if token == "{":
            content = _group(tokens)
            found += _joined(content) if found.endswith(("_", "^")) else content
        elif token.endswith("frac"):
            found += f"{_joined(_argument(tokens))}/{_joined(_argument(tokens))}"
        elif token == r"\sqrt":
            found += f"√{_joined(_argument(tokens))}"
        elif token in ENVIRONMENT:
            _argument(tokens)
        elif token[0] != "\\":
            found += token.replace("&", " ")
        elif token[1].isalpha():
            found += _character(token)
        else:
            found += token[1] if token[1] in "{}%_#$" else " "
    return found


def _argument(tokens: Iterator[str]) -> str:
    token = next((token for token in tokens if not token.isspace()), "")
    if token == "{":
        return _group(tokens)
    return _character(token) if token.startswith("\\") else token


def _joined(formula: str) -> str:
    """A part of a formula in brackets, unless it's one thing."""
    formula = _line(formula)
    return formula if re.fullmatch(r"[\w√⊤.]*", formula) else f"({formula})"


def _character(command: str) -> str:
    if command in LAYOUT:
        return ""
    code = convert_symbol(command)
    return chr(int(code, 16)) if code else command[1:]


def text_of(node: nodes.Node) -> str:
    """What a reader can read in a part of an article, without titles, code blocks and deeper sections."""
    if isinstance(node, nodes.math | nodes.math_block):
        return plain_formula(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.raw):
        captions = CAPTION.findall(node.astext()) if node.get("format") == "html" else []
        return " ".join(html.unescape(TAG.sub("", caption)) for caption in captions)
    if isinstance(node, (*NOT_TEXT, nodes.literal_block)) or _is_beside(node):
        return ""
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(text_of(child) for child in node.children)


def _is_beside(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Element) and not BESIDE.isdisjoint(node.get("classes", ()))


def code_of(node: nodes.Node) -> str:
    """The code in a part of an article, without what it prints and without deeper sections."""
    if isinstance(node, nodes.literal_block):
        return "" if "output" in node["classes"] else node.astext().strip("\n")
    if isinstance(node, NOT_TEXT):
        return ""
    return "\n".join(filter(None, map(code_of, node.children)))


def title_of(section: nodes.section) -> str:
    """The title as plain text; empty without one."""
    index = section.first_child_matching_class(nodes.title)
    return "" if index is None else _line("".join(map(text_of, section[index].children)))


def _line(text: str) -> str:
    return SPACE_BEFORE_SIGN.sub(r"\1", " ".join(text.split()))


def exercise_of(section: nodes.section) -> tuple[str, ...]:
    """The exercise that the section offers, such as "Exercise 2"; none if there are several."""
    found = [
        NOTEBOOK.search(link["reftarget"])
        for link in section.findall(addnodes.download_reference)
        if _section_of(link) is section and not _is_beside(link.parent.parent)
    ]
    numbers = {match[1] for match in found if match}
    return tuple(f"Exercise {number}" for number in numbers) if len(numbers) == 1 else ()


def terms_of(section: nodes.section) -> frozenset[str]:
    """The ids of the terms that the section itself links to."""
    links = (link for link in section.findall(nodes.reference) if _section_of(link) is section)
    anchors = {link.get("refid") or link.get("refuri", "").rpartition("#")[2] for link in links}
    return frozenset(anchor for anchor in anchors if anchor.startswith("term-"))


def _section_of(node: nodes.Node) -> nodes.Node:
    while not isinstance(node, nodes.section):
        node = node.parent
    return node


def _depth_of(section: nodes.section) -> int:
    depth = 0
    while isinstance(section := section.parent, nodes.section):
        depth += 1
    return depth


def entries(article: nodes.document) -> list[Entry]:
    """The sections of an article and the terms of its glossaries, in their order."""
    found = []
    for section in article.findall(nodes.section):
        entry = Entry(
            depth=_depth_of(section),
            # the label, where there is one: it comes after the id made of the title
            anchor=section["ids"][-1],
            title=title_of(section),
            names=exercise_of(section),
            text=_line(" ".join(map(text_of, section.children))),
            code="\n".join(filter(None, map(code_of, section.children))),
            terms=terms_of(section),
        )
        # a heading with nothing below it, or terms that are found themselves, would be an empty hit
        below = any(isinstance(child, nodes.section) for child in section)
        if not entry.depth or entry.text or entry.code or below:
            found.append(entry)
        for glossary in section.findall(addnodes.glossary):
            if _section_of(glossary) is section:
                terms = glossary.findall(nodes.definition_list_item)
                found += [term_entry(term, _depth_of(section) + 1) for term in terms]
    return found


def term_entry(item: nodes.definition_list_item, depth: int) -> Entry:
    """A term of a glossary; its synonyms are names."""
    terms = [_line("".join(map(text_of, term.children))) for term in item.findall(nodes.term)]
    anchor = next(item.findall(nodes.term))["ids"][0]
    text = " ".join(text_of(definition) for definition in item.findall(nodes.definition))
    return Entry(depth, anchor, terms[0], tuple(terms[1:]), _line(text), "")


def _found(env: BuildEnvironment) -> dict[str, list[Entry]]:
    """What can be found, by page; Sphinx keeps it with its environment."""
    return vars(env).setdefault("search_entries", {})


def begin(app: Sphinx) -> None:
    """Leave out Sphinx's index; the page `search` is made as a page like any other."""
    _found(app.env).clear()
    if isinstance(app.builder, StandaloneHTMLBuilder) and app.builder.name == "html":
        app.builder.search = False
        app.config.html_additional_pages["search"] = "search.html"


def keep_article(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Keep what can be found on a page, before other extensions add lists and links to it."""
    _found(app.env)[page] = entries(doctree)


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Write the script with everything that can be found, and put the search's own scripts beside it."""
    if exception or app.builder.name != "html":
        return
    pages = []
    found_anywhere = [entry for entries in _found(app.env).values() for entry in entries]
    called = {entry.anchor: (entry.title, *entry.names) for entry in found_anywhere}
    uses = Counter(term for entry in found_anywhere for term in entry.terms)
    for page in app.env.collect_relations():  # in the order of the contents
        numbers = app.env.toc_secnumbers.get(page, {}).get("", ())
        found = _found(app.env)[page]
        if found:
            title = ".".join(map(str, numbers)) + ". " if numbers else ""
            address = app.builder.get_target_uri(page)
            lines = []
            for entry in found:
                # a term that few sections link to is what those sections explain
                terms = sorted(term for term in entry.terms if uses[term] <= MOST_USES)
                names = sum((called.get(term, ()) for term in terms), entry.names)
                lines.append(
                    [entry.depth, entry.anchor, entry.title, names, entry.text, entry.code]
                )
            pages.append([address, title + found[0].title, lines])
    static = Path(app.outdir) / "_static"
    folder = static / "search"
    shutil.copytree(SEARCH, folder, dirs_exist_ok=True)
    index = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    (folder / "sections.js").write_text(f"self.searchSections = {index};\n", encoding="utf-8")
    for name in ("searchtools.js", "language_data.js"):
        (static / name).unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", begin)
    app.connect("doctree-resolved", keep_article, priority=400)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
