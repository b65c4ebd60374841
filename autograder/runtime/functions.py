"""The functions of a grade cell: a line's code is the source of those that it uses, then an expression.

A line that names a function calls it, with the inputs that its parameters name. A line without functions is
an expression, and that is its code.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping


@functools.lru_cache(maxsize=4096)
def _names(text: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


def called(expression: str, functions: Mapping[str, str]) -> str:
    """The source of the functions that a piece of code names, and that these name, in the cell's order.

    functions: those of a cell, by name.
    """
    if not functions:
        return ""
    found: set[str] = set()
    new = {expression}
    while new:
        more = {name for text in new for name in _names(text) if name in functions} - found
        found |= more
        new = {functions[name] for name in more}
    return "\n\n\n".join(source for name, source in functions.items() if name in found)


@functools.lru_cache(maxsize=4096)
def call(expression: str, functions: str) -> str:
    """An expression, or the call of the function that it names: its parameters are inputs of these names."""
    for node in ast.parse(functions).body:
        if isinstance(node, ast.FunctionDef) and node.name == expression:
            return f"{expression}({', '.join(argument.arg for argument in node.args.args)})"
    return expression


def code(expression: str, functions: str) -> str:
    """What is evaluated: the functions, then the expression or call."""
    return f"{functions}\n\n\n{call(expression, functions)}" if functions else expression


def _split(text: str) -> tuple[ast.Module, ast.expr]:
    """The functions of a line's code, and its expression."""
    tree = ast.parse(text)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    return tree, last.value


def halves(text: str) -> tuple[ast.Module, ast.Expression]:
    """Code in two parts to compile: what is executed, and what is evaluated then. Raises SyntaxError."""
    functions, expression = _split(text)
    return functions, ast.Expression(expression)


def _called_function(text: str) -> ast.FunctionDef | None:
    functions, expression = _split(text)
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        for node in functions.body:
            if isinstance(node, ast.FunctionDef) and node.name == expression.func.id:
                return node
    return None


@functools.lru_cache(maxsize=1024)
def returned(text: str) -> ast.expr:
    """What stands behind a line's `return`, or its expression: how its value is written out."""
    function = _called_function(text)
    if function and isinstance(function.body[-1], ast.Return) and function.body[-1].value:
        return function.body[-1].value
    return _split(text)[1]


def behind(text: str, node: ast.expr) -> str:
    """The code of a part of a line's value, with that of all variables in it."""
    sources: dict[str, list[ast.AST]] = {}
    for part in ast.walk(ast.parse(text)):
        value = getattr(part, "iter", None) or getattr(part, "value", None)
        targets = getattr(part, "targets", None) or [getattr(part, "target", None)]
        for name in (one for target in filter(None, targets) for one in ast.walk(target)):
            if isinstance(name, ast.Name) and value:
                sources.setdefault(name.id, []).append(value)
    found: list[ast.AST] = [node]
    new: list[ast.AST] = [node]
    while new:
        names = [one.id for part in new for one in ast.walk(part) if isinstance(one, ast.Name)]
        new = [value for name in dict.fromkeys(names) for value in sources.pop(name, ())]
        found += new
    return "\n".join(map(ast.unparse, found))


@functools.lru_cache(maxsize=1024)
def shown(text: str) -> str:
    """A line's code as a person reads it: an expression where that is all, else its functions."""
    functions, expression = _split(text)
    function = _called_function(text)
    if function is None:
        return ast.unparse(expression) if functions.body else text
    if len(functions.body) == len(function.body) == 1:
        return ast.unparse(returned(text))
    return text.rpartition("\n\n\n")[0]
