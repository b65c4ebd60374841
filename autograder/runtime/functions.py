"""The functions of a grade cell: a line's code is the source of those that it uses, then an expression.

A line that names a function calls it, with the inputs that its parameters name. A line without functions is
an expression, and that is its code.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence

# what a line's code calls before each part of its value: the depth of its list, and its number there from 0, None for
# the next one, -1 where nobody knows it
NOTED = "_at_part"
# between the functions of a line's code
BETWEEN = "\n\n\n"


def called(expression: str, functions: Mapping[str, str]) -> str:
    """The source of the functions that a piece of code names, and that these name, in the cell's order.

    functions: those of a cell, by name.
    """
    if not functions:
        return ""
    found: set[str] = set()
    new = {expression}
    while new:
        # a word of a comment does no harm; parsing would take a hundred times as long
        words = {word for text in new for word in re.findall(r"(?<![\w.])\w+", text)}
        more = (words & functions.keys()) - found
        found |= more
        new = {functions[name] for name in more}
    return BETWEEN.join(source for name, source in functions.items() if name in found)


@functools.lru_cache(maxsize=4096)
def call(expression: str, functions: str) -> str:
    """An expression, or the call of the function that it names: its parameters are inputs of these names."""
    for source in functions.split(BETWEEN):
        if source.startswith(f"def {expression}("):
            (node,) = ast.parse(source).body
            assert isinstance(node, ast.FunctionDef)
            return f"{expression}({', '.join(argument.arg for argument in node.args.args)})"
    return expression


def code(expression: str, functions: str) -> str:
    """What is evaluated: the functions, then the expression or call."""
    return f"{functions}{BETWEEN}{call(expression, functions)}" if functions else expression


def _split(text: str) -> tuple[ast.Module, ast.expr]:
    """The functions of a line's code, and its expression."""
    tree = ast.parse(text)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    return tree, last.value


def halves(text: str) -> tuple[ast.Module, ast.Expression]:
    """Code in two parts to compile: what is executed, and what is evaluated then; it notes its parts (see NOTED).

    Raises SyntaxError.
    """
    functions, expression = _split(text)
    function = _called(functions, expression)
    if function is None:
        expression = _noting(expression)
    elif isinstance(last := function.body[-1], ast.Return) and last.value:
        function.body = [*_noting_statements(function.body[:-1], last.value), last]
        last.value = _noting(last.value)
    return functions, ast.Expression(expression)


def _noting_statements(body: Sequence[ast.stmt], value: ast.expr) -> Iterator[ast.stmt]:
    """Statements before a `return`, each below a call that tells which part of the value it computes."""
    # of a name that is a part its number, and a depth of 1; of one whose items are parts the number before them, and 0
    places: dict[str, tuple[int, int]] = {}
    for number, part in enumerate(getattr(value, "elts", [ast.Starred(value)])):
        items = isinstance(part, ast.Starred)
        if isinstance(named := part.value if items else part, ast.Name):
            places.setdefault(named.id, (number - items, 1 - items))
        if items:
            break
    for node in body if places else ():
        place = None
        if isinstance(node, ast.Assign):
            place = places.get(getattr(node.targets[0], "id", ""))
        elif isinstance(node, ast.For):
            text = ast.unparse(node)
            place = next((one for name, one in places.items() if f"{name}.append(" in text), None)
        number, depth = place or (-1, 0)
        yield _note(0, number)
        if place and isinstance(node, ast.For):
            node.body.insert(0, _note(depth, None))
        elif place and isinstance(node, ast.Assign):
            if depth or number < 0 or isinstance(node.value, ast.ListComp):
                node.value = _noting(node.value, depth)
        yield node
    if not places:
        yield from body


def _noting(node: ast.expr, depth: int = 0) -> ast.expr:
    """An expression for a list or tuple in which a call comes before each part."""

    def noted(part: ast.expr, number: int | None) -> ast.expr:
        if isinstance(part, ast.Starred):
            part.value = _after(_note(depth, -1), part.value)
            return part
        return _after(_note(depth, number), _noting(part, depth + 1))

    match node:
        case ast.ListComp():
            node.elt = noted(node.elt, None)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            starred = [n for n, part in enumerate(parts) if isinstance(part, ast.Starred)]
            known = starred[0] if starred else len(parts)
            node.elts = [noted(part, n if n < known else -1) for n, part in enumerate(parts)]
    return node


@functools.lru_cache(maxsize=256)
def _note(depth: int, number: int | None) -> ast.Expr:
    """A call that notes a part; it stands at a line of its own, without which nothing can be compiled."""
    (node,) = ast.parse(f"{NOTED}({depth}, {number})").body
    assert isinstance(node, ast.Expr)
    return node


def _after(note: ast.Expr, part: ast.expr) -> ast.expr:
    """A part that is computed after a note, which gives None."""
    return ast.copy_location(ast.BoolOp(ast.Or(), [note.value, part]), part)


def _called(functions: ast.Module, expression: ast.expr) -> ast.FunctionDef | None:
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name):
        for node in functions.body:
            if isinstance(node, ast.FunctionDef) and node.name == expression.func.id:
                return node
    return None


@functools.lru_cache(maxsize=1024)
def returned(text: str) -> ast.expr:
    """What stands behind a line's `return`, or its expression: how its value is written out."""
    functions, expression = _split(text)
    function = _called(functions, expression)
    if function and isinstance(function.body[-1], ast.Return) and function.body[-1].value:
        return function.body[-1].value
    return expression


@functools.lru_cache(maxsize=1024)
def shown(text: str) -> str:
    """A line's code as a person reads it: an expression where that is all, else its functions."""
    functions, expression = _split(text)
    function = _called(functions, expression)
    if function is None:
        return ast.unparse(expression) if functions.body else text
    if len(functions.body) == len(function.body) == 1:
        return ast.unparse(returned(text))
    return text.rpartition(BETWEEN)[0]
