"""A page's source taken apart: its code cells with their tags, its text, and how much there is to read."""

from __future__ import annotations

import ast
import functools
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from autograder.errors import BookError

# cells with one of these tags show no code; folded cells (`hide-input`) show theirs on a click
HIDING = {"remove-cell", "remove-input"}
# words of text and code that a reader takes in per minute, so that 4,000 take 25 minutes
WORDS_PER_MINUTE = 160
# drawings written into a page, whose numbers nobody reads, and tasks and cells, which say their own minutes
NOT_READ = re.compile(
    r"<svg\b.*?</svg>|^:::\{practice(?:-cell)?\}.*?^:::$", flags=re.DOTALL | re.MULTILINE
)
QUESTIONS = re.compile(r"^## Check yourself\n.*?(?=^## |\Z)", flags=re.DOTALL | re.MULTILINE)
# a file of which a page shows all, or one function or class
PRINTED = re.compile(
    r"^```\{literalinclude\} (?P<file>\S+)\n(?:(?::pyobject: (?P<name>\S+)|[^`\n].*)?\n)*?```$",
    flags=re.MULTILINE,
)
# a file of which a page shows one block (`block_of`)
BLOCK = re.compile(r"^```\{block\} (?P<file>\S+) (?P<name>\w+)\n```$", flags=re.MULTILINE)
# directives whose argument is text
SPOKEN = r"^ *:{3,}\{predict\}"
MARKUP = re.compile(
    rf"</?\w[^>]*>|{SPOKEN}|^ *(`{{3,}}|:{{3,}}).*$|^ *:[\w-]+:.*$", flags=re.MULTILINE
)


@dataclass(frozen=True)
class CodeCell:
    """A code cell. page: the page's file; number: counted from 1 among the page's code cells."""

    page: Path
    number: int
    source: str
    tags: frozenset[str]

    @property
    def visible(self) -> bool:
        """Whether a reader can see the code, perhaps after unfolding it."""
        return not self.tags & HIDING

    def program(self) -> str:
        """The source with lines of IPython's own left blank."""
        lines = self.source.split("\n")
        return "\n".join("" if line.startswith(("%", "!")) else line for line in lines)

    def tree(self) -> ast.Module:
        """The program, parsed. Raises BookError."""
        try:
            return ast.parse(self.program())
        except SyntaxError as error:
            first = self.source.split("\n")[0]
            raise BookError(
                f"{self.page}: the cell that begins with {first!r} is no Python: {error}."
            ) from error


@dataclass(frozen=True)
class PageSource:
    """The parts of a page in their order: text as str, code as CodeCell."""

    parts: tuple[str | CodeCell, ...]

    @property
    def cells(self) -> list[CodeCell]:
        """The code cells."""
        return [part for part in self.parts if isinstance(part, CodeCell)]

    @property
    def texts(self) -> list[str]:
        """The Markdown between the code cells."""
        return [part for part in self.parts if isinstance(part, str)]

    def words(self) -> int:
        """Words of the text and of visible code; signs alone markup and tasks don't count."""
        texts = [MARKUP.sub(" ", NOT_READ.sub(" ", text)) for text in self.texts]
        texts += [cell.source for cell in self.cells if cell.visible]
        return sum(any(map(str.isalnum, word)) for text in texts for word in text.split())

    def minutes(self) -> int:
        """Minutes to read the page, rounded up."""
        return minutes_of(self.words())


def minutes_of(words: int) -> int:
    """Minutes to read that many words, rounded up."""
    return math.ceil(words / WORDS_PER_MINUTE)


def read_page(page: Path, text: str | None = None) -> PageSource:
    """Take a page apart. text: what stands in the file, if it has been read already.

    Raises BookError when the front matter is incomplete.
    """
    return _taken_apart(page, page.read_text(encoding="utf-8") if text is None else text)


@functools.lru_cache(maxsize=256)
def _taken_apart(page: Path, text: str) -> PageSource:
    try:
        cells = jupytext.reads(text, fmt="md:myst").cells
    except nbformat.ValidationError as error:
        raise BookError(f"The front matter of {page} is incomplete: {error.message}.") from error
    parts: list[str | CodeCell] = []
    number = 0
    for cell in cells:
        if cell.cell_type == "code":
            number += 1
            tags = frozenset(cell.metadata.get("tags", ()))
            parts.append(CodeCell(page, number, cell.source, tags))
        elif cell.cell_type == "markdown":
            parts.append(cell.source)
    return PageSource(tuple(parts))


def page_to_read(page: Path) -> PageSource:
    """A page with the programs that it prints, and without the questions under *Check yourself*.

    Raises BookError as `read_page` does.
    """

    def program(block: re.Match[str]) -> str:
        lines = (page.parent / block["file"]).read_text(encoding="utf-8").split("\n")
        if block["name"]:
            found: Any = ast.parse("\n".join(lines))
            for name in block["name"].split("."):
                found = next(
                    n for n in ast.iter_child_nodes(found) if getattr(n, "name", "") == name
                )
            lines = lines[found.lineno - 1 : found.end_lineno]
        return "\n".join(["```python", *lines, "```"])

    def shown(block: re.Match[str]) -> str:
        file = (page.parent / block["file"]).read_text(encoding="utf-8")
        return f"```python\n{block_of(file, block['name'])}\n```"

    text = QUESTIONS.sub("", page.read_text(encoding="utf-8"))
    return read_page(page, BLOCK.sub(shown, PRINTED.sub(program, text)))


def block_of(program: str, name: str) -> str:
    """The block of a program under the comment `# Name: ...`, with it; "Start" is what stands above all of them.

    Raises BookError when there is no such block.
    """
    for block in re.split(r"\n(?=# [A-Z]\w*: )", f"# Start: \n{program}"):
        if block.startswith(f"# {name}: "):
            return block.removeprefix("# Start: \n").strip("\n")
    raise BookError(f"The program has no block {name!r}.")
