"""The runtime as text: how `autograder.runtime` gets into a notebook or kernel that hasn't got it."""

from __future__ import annotations

import ast
import functools
import importlib.resources
import inspect
import io
import tokenize

from autograder.loader import load_checks
from autograder.programs import docstring_of
from autograder.runtime import MODULES
from autograder.runtime.plain_data import pack

# what `load_checks` makes
PACKAGE = "attention_checks"


def sources() -> dict[str, str]:
    """The runtime's modules in the order in which they are loaded: name -> text."""
    # the package may be in a zip file: so it travels to the workers of a Dask cluster
    folder = importlib.resources.files("autograder.runtime")
    return {name: folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in MODULES}


def docstring_lines(source: str) -> set[int]:
    """The numbers of the lines, from 1, of the docstrings that a program can do without."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if (words := docstring_of(node)) and len(getattr(node, "body", [])) > 1:
            found.update(range(words.lineno, (words.end_lineno or words.lineno) + 1))
    return found


def comment_lines(source: str) -> set[int]:
    """The numbers of the lines, from 1, that hold a comment and nothing else."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
    }


def without_words(source: str) -> str:
    """A module with empty lines where its docstrings and comments are, so that its lines keep their numbers."""
    words = docstring_lines(source) | comment_lines(source)
    lines = enumerate(source.split("\n"), 1)
    return "\n".join("" if number in words else line for number, line in lines)


@functools.cache
def loader() -> str:
    """Python that defines `load_checks`."""
    source = inspect.getsource(load_checks)
    return "".join(f"{line}\n" for line in without_words(source).split("\n") if line)


@functools.cache
def packed_sources() -> str:
    """The runtime, packed for `load_checks`, without what a notebook has no use for."""
    return pack({name: without_words(source) for name, source in sources().items()})
