"""What decides what a program gives: its code without its words, and the versions of packages."""

from __future__ import annotations

import ast
import functools
from importlib.metadata import version


@functools.lru_cache(maxsize=4096)
def code_only(text: str) -> str:
    """A program without comments, spacing and docstrings, as text. Raises SyntaxError."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
        ) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def plain_version(package: str) -> str:
    """An installed package's version without what builds of one version add, like +cpu."""
    return version(package).partition("+")[0]
