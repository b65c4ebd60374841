"""Right answers written in other styles: rewritten as syntax trees, wrapped, or laid out in other cells.

They join those of `honest.HONEST_STYLES`.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from audit_cases.honest import (
    add_after,
    add_before,
    answers_of,
    convert_results,
    damage,
    decorate,
    style,
)
from autograder.programs import docstring_of, spans_of, without_docstrings

Function = ast.FunctionDef

# Rewritten as syntax trees ----------------------------------------------------------------------


def _rewrite(name: str, change: Callable[[ast.Module], None], before: str = "") -> None:
    """Register answers whose syntax trees are changed in place; before: a cell that they need."""

    def rewrite(notebook: NotebookNode) -> None:
        for cell in answers_of(notebook):
            tree = ast.parse(cell.source)
            change(tree)
            cell.source = ast.unparse(ast.fix_missing_locations(tree))
        if before:
            first = notebook.cells.index(answers_of(notebook)[0])
            notebook.cells.insert(first, new_code_cell(textwrap.dedent(before).strip()))

    style(name)(rewrite)


def _functions(tree: ast.AST) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _outer_functions(tree: ast.Module) -> list[Function]:
    """Functions and methods, but none inside another function."""
    found = []
    for node in tree.body:
        body = node.body if isinstance(node, ast.ClassDef) else [node]
        found += [part for part in body if isinstance(part, ast.FunctionDef)]
    return found


def _assigned(function: Function) -> set[str]:
    """The names that a function binds."""
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def _arguments(function: Function) -> set[str]:
    return {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}


def _words_and_body(function: Function) -> tuple[list[ast.stmt], list[ast.stmt]]:
    words = function.body[:1] if docstring_of(function) else []
    return words, function.body[len(words) :]


def _each_body(change: Callable[[list[ast.stmt]], list[ast.stmt]]) -> Callable[[ast.Module], None]:
    """A change of the bodies of all functions and methods."""

    def change_all(tree: ast.Module) -> None:
        for function in _outer_functions(tree):
            words, body = _words_and_body(function)
            function.body = words + change(body)

    return change_all


NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


def _parsed(text: str) -> list[ast.stmt]:
    return ast.parse(textwrap.dedent(text).strip()).body


def _around(text: str) -> Callable[[list[ast.stmt]], list[ast.stmt]]:
    """A statement around a function's body, which stands for `pass` in its first block."""

    def put(body: list[ast.stmt]) -> list[ast.stmt]:
        (outer,) = _parsed(text)
        setattr(outer, "body", body)  # noqa: B010  any statement that has a block
        return [outer]

    return put


class _Returns(ast.NodeTransformer):
    """Replaces what functions return by statements that change gives."""

    def __init__(self, change: Callable[[ast.expr], list[ast.stmt]]) -> None:
        self._change = change

    def visit_Return(self, node: ast.Return) -> list[ast.stmt] | ast.Return:
        """A return with a value, replaced."""
        return self._change(node.value) if node.value else node


def _returning(text: str) -> Callable[[ast.Module], None]:
    """Statements in place of every return; VALUE stands for what is returned."""

    class Value(ast.NodeTransformer):
        def __init__(self, value: ast.expr) -> None:
            self.value = value

        def visit_Name(self, node: ast.Name) -> ast.expr:
            return self.value if node.id == "VALUE" else node

    def change(value: ast.expr) -> list[ast.stmt]:
        return [Value(value).visit(statement) for statement in _parsed(text)]

    return lambda tree: _Returns(change).visit(tree)


_rewrite("formatted by a tool that drops comments", lambda tree: None)
_rewrite(
    "a match statement for every return",
    _returning("match VALUE:\n    case result:\n        return result"),
)
_rewrite(
    "a context manager around everything",
    _each_body(_around("with contextlib.ExitStack() as stack, nullcontext():\n    pass")),
    before="import contextlib\nfrom contextlib import nullcontext",
)


def _annotated(tree: ast.Module) -> None:
    for function in _outer_functions(tree):
        arguments = function.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.arg != "self":
                argument.annotation = ast.parse(
                    "npt.NDArray[np.float64] | torch.Tensor | Annotated[object, 'any']", mode="eval"
                ).body
        function.returns = ast.parse("Any", mode="eval").body


_rewrite(
    "types of numpy.typing on everything",
    _annotated,
    before="""
    import numpy as np
    import numpy.typing as npt
    import torch
    from typing import Annotated, Any
    """,
)


def _without_types_and_docstrings(tree: ast.Module) -> None:
    for function in _functions(tree):
        function.returns = None
        for argument in ast.walk(function.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
    without_docstrings(tree)


_rewrite("no types and no docstrings", _without_types_and_docstrings)


def _greek(tree: ast.Module) -> None:
    """Local variables under other names, with letters outside ASCII."""
    for function in _outer_functions(tree):
        own = _assigned(function) - _arguments(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in own:
                node.id = f"ψ_{node.id}"


_rewrite("local names with Greek letters", _greek)


def _inner(tree: ast.Module) -> None:
    for function in _outer_functions(tree):
        words, body = _words_and_body(function)
        # super() needs the method's own frame; what is bound inside is no argument there
        fits = "super()" not in ast.unparse(function)
        if fits and not _assigned(function) & _arguments(function):
            inner = ast.FunctionDef("inner", NO_ARGUMENTS, body, [])
            function.body = [*words, inner, *_parsed("return inner()")]


_rewrite("the work done in a function inside", _inner)


def _old_super(tree: ast.Module) -> None:
    for node in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and ast.unparse(call) == "super()":
                call.args = [ast.Name(node.name, ast.Load()), ast.Name("self", ast.Load())]


_rewrite("super with its arguments, as in older code", _old_super)


def _own_linear(tree: ast.Module) -> None:
    class Linear(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
            self.generic_visit(node)
            return ast.Name("OwnLinear", ast.Load()) if ast.unparse(node) == "nn.Linear" else node

    Linear().visit(tree)


_rewrite(
    "parameters of one's own and F.linear",
    _own_linear,
    before="""
    import torch
    import torch.nn.functional as F
    class OwnLinear(torch.nn.Module):
        def __init__(self, in_features, out_features, bias=True):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.empty(out_features, in_features))
            torch.nn.init.xavier_uniform_(self.weight)
            self.bias = torch.nn.Parameter(torch.zeros(out_features)) if bias else None
        def forward(self, x):
            return F.linear(x, self.weight, self.bias)
    """,
)

# Functions made in other ways -------------------------------------------------------------------


def _rebind(name: str, code: str) -> None:
    """Register functions replaced by what `styled`, defined in code, makes of them; classes stay."""

    @style(name)
    def change(notebook: NotebookNode) -> None:
        add_to_first = new_code_cell(textwrap.dedent(code).strip())
        first = answers_of(notebook)[0]
        for cell in answers_of(notebook):
            if re.match("def ", cell.source):
                (answer,) = spans_of(cell.source)
                place = notebook.cells.index(cell) + 1
                notebook.cells.insert(place, new_code_cell(f"{answer} = styled({answer})"))
        notebook.cells.insert(notebook.cells.index(first), add_to_first)


_rebind(
    "partial functions",
    "import functools\ndef styled(function):\n    return functools.partial(function)",
)
_rebind(
    "static methods, and bound methods of a class",
    """
    def styled(function):
        class Solutions:
            static = staticmethod(function)
            def bound(self, *arguments, **named):
                return self.static(*arguments, **named)
        return Solutions().bound
    """,
)

# Around every call ------------------------------------------------------------------------------

decorate(
    "every call in another thread",
    """
    import concurrent.futures
    def styled(function):
        def wrapper(*arguments, **named):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                try:
                    future = pool.submit(function, *arguments, **named)
                except RuntimeError:
                    # where memory is measured, no thread may be started
                    return function(*arguments, **named)
                return future.result()
        return wrapper
    """,
)
decorate(
    "seeds set in every call",
    """
    import random
    import numpy as np
    running = []
    def styled(function):
        def wrapper(*arguments, **named):
            if not running:  # else a function that trains would draw the same batch in each step
                random.seed(0), np.random.seed(0), torch.manual_seed(0)
            running.append(function)
            try:
                return function(*arguments, **named)
            finally:
                running.pop()
        return wrapper
    """,
)

# Results ----------------------------------------------------------------------------------------

convert_results(
    "arrays of long doubles",
    """
    import numpy as np
    def convert(value):
        is_plain = isinstance(value, np.ndarray) and value.dtype == np.float64
        return value.astype(np.longdouble) if is_plain else value
    """,
)

# Classes ----------------------------------------------------------------------------------------


def _subclass(name: str, body: str, before: str = "", layers: bool = False) -> None:
    """Register classes replaced by a subclass; BASE stands for its name.

    layers: only classes that derive from another, since others have no layers.
    """

    @style(name)
    def change(notebook: NotebookNode) -> None:
        first = notebook.cells.index(answers_of(notebook)[0])
        if before:
            notebook.cells.insert(first, new_code_cell(textwrap.dedent(before).strip()))
        for cell in answers_of(notebook):
            if re.match(r"class \w+\(" if layers else "class ", cell.source):
                (answer,) = spans_of(cell.source)
                code = textwrap.dedent(body).strip().replace("BASE", answer)
                notebook.cells.insert(notebook.cells.index(cell) + 1, new_code_cell(code))


_subclass("classes made by type()", "BASE = type('BASE', (BASE,), {'note': 'made by hand'})")
_subclass(
    "abstract and generic classes",
    """
    class BASE(BASE, Generic[T], abc.ABC):
        kind: ClassVar[str] = "mine"
        @property
        def size(self) -> int:
            return sum(p.numel() for p in self.parameters())
        def __init_subclass__(cls, **named):
            super().__init_subclass__(**named)
    """,
    before="import abc\nfrom typing import ClassVar, Generic, TypeVar\nT = TypeVar('T')",
)
_subclass(
    "empty containers, buffers and plain attributes beside the layers",
    """
    class BASE(BASE):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            self.extra = torch.nn.ModuleList()
            self.more = torch.nn.ParameterDict()
            self.others = torch.nn.ModuleDict()
            self.register_buffer("note", torch.zeros(3), persistent=False)
            self.config = {"arguments": arguments, **named}
            self.history = []
    """,
    layers=True,
)

# Cells ------------------------------------------------------------------------------------------

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@style("large pictures pasted into text, as Colab stores them")
def _(notebook: NotebookNode) -> None:
    for number in range(11):
        picture = f"![](data:image/png;base64,{PNG[:-4]}{'A' * 150_000})"
        notebook.cells.insert(number, new_markdown_cell(f"A picture: {picture}"))


@style("all answers in the first answer cell")
def _(notebook: NotebookNode) -> None:
    first, *others = answers_of(notebook)
    for cell in others:
        first.source += f"\n\n\n{cell.source}"
        cell.source = "# see above"


@style("helpers in cells of their own, called by the answers")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        (name,) = spans_of(cell.source)
        place = notebook.cells.index(cell)
        notebook.cells[place:place] = [
            new_code_cell(cell.source),
            new_code_cell(f"my_{name} = {name}\ndel {name}"),
        ]
        if cell.source.startswith("class "):
            cell.source = f"class {name}(my_{name}):\n    pass"
        else:
            cell.source = (
                f"def {name}(*arguments, **named):\n    return my_{name}(*arguments, **named)"
            )


@style("answers that are executed from text")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        cell.source = f"code = {cell.source!r}\nexec(compile(code, 'mine', 'exec'))"


@style("tests and prints below each answer, in its cell")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        (name,) = spans_of(cell.source)
        cell.source += (
            f"\n\nassert callable({name})\nprint({name}.__name__)\nif __name__ == '__main__':\n"
            f"    print('ready')\n{name}"
        )


@style("answer cells whose output is captured")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        cell.source = f"%%capture captured\n{cell.source}\nprint('not shown')"


@style("tabs for spaces")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        cell.source = re.sub(
            r"^(?: {4})+",
            lambda found: "\t" * (len(found[0]) // 4),
            cell.source,
            flags=re.MULTILINE,
        )


add_before(
    "every expression of a cell shown",
    "from IPython.core.interactiveshell import "
    "InteractiveShell\nInteractiveShell.ast_node_interactivity = 'all'",
    "1\n2\n'three'",
)
add_before(
    "questions to the keyboard", "name = input('Your name? ')", "import pdb\npdb.set_trace()"
)
add_before("the debugger switched on", "%pdb on", "1 / 0", "%xmode Verbose\n%precision 3")
add_before(
    "cells in other languages",
    "%%bash\necho hello",
    "%%html\n<b>hello</b>",
    "%%javascript\nconsole.log('hello')",
    "%%latex\n$x^2$",
    "!pip --version\n%pip --version",
)
add_before(
    "other packages imported",
    "import scipy.special, matplotlib, pandas",
    "import einops\nfrom tqdm import tqdm",
    "import seaborn as sns\nsns.set_theme()",
    "from google.colab import drive\ndrive.mount('/content/drive')",
)
add_before(
    "settings of torch changed",
    "torch.set_default_device('cpu')\ntorch.set_float32_matmul_precision('high')\n"
    "torch.set_printoptions(sci_mode=False)\ntorch.backends.mkldnn.enabled = False",
)
add_before(
    "signal handlers and a limit on time",
    "import signal\ndef late(*_):\n    raise TimeoutError\nsignal.signal(signal.SIGALRM, late)\nsignal.alarm(500)",
)
add_after(
    "outputs of every kind",
    "from IPython.display import *\ndisplay(HTML('<b>x</b>'), Math('x^2'), "
    "Markdown('**x**'))\nclear_output()\nprint('after')",
)


# What happens to the file -----------------------------------------------------------------------


@damage("sources as lists of lines")
def _(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        cell.source = cell.source.splitlines(keepends=True)


@damage("outputs kept, with errors of earlier attempts")
def _(notebook: NotebookNode) -> None:
    error = {"output_type": "error", "ename": "E", "evalue": "old", "traceback": ["old"] * 500}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            text = {"output_type": "stream", "name": "stdout", "text": "old\n" * 20_000}
            cell.outputs = [NotebookNode(error), NotebookNode(text)]
            cell.execution_count = 1000 - number


@damage("the cells in between deleted")
def _(notebook: NotebookNode) -> None:
    notebook.cells = answers_of(notebook)
