"""What decides what a program gives: its code without its words, and the versions of packages."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from autograder.errors import CatalogueError, CourseError

# the packages that compute what is compared: another version may give other values
VERSIONED = ("numpy", "torch")


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def docstring_of(node: ast.AST) -> ast.stmt | None:
    """The statement that is the docstring of a module, class or function; None without one."""
    if isinstance(node, (ast.Module, *DEFINITIONS)) and ast.get_docstring(node) is not None:
        return node.body[0]
    return None


def without_docstrings(tree: ast.Module) -> ast.Module:
    """The same tree, in which `pass` stands in a body that was nothing but a docstring."""
    for node in ast.walk(tree):
        words = docstring_of(node)
        if words and isinstance(
            node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            node.body = node.body[1:] or [ast.copy_location(ast.Pass(), words)]
    return tree


def code_of(node: object) -> str:
    """A syntax tree as text, the same in every version of Python, unlike that of `ast.dump`."""
    if isinstance(node, list):
        return f"[{', '.join(map(code_of, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    # newer versions have fields that older ones lack, and leave out empty ones; ctx says nothing new
    fields = [
        f"{name}={code_of(value)}"
        for name, value in ast.iter_fields(node)
        if name not in ("ctx", "kind", "type_comment") and value is not None and value != []
    ]
    return f"{type(node).__name__}({', '.join(fields)})"


@functools.lru_cache(maxsize=4096)
def code_only(text: str) -> str:
    """A program without comments, spacing and docstrings, as text. Raises SyntaxError."""
    return code_of(without_docstrings(ast.parse(text)))


# `!ls`, `%pip`, `print?`, `files = !ls`; what stands before the command
COMMAND = re.compile(r"^([ \t]*(?:[\w, ]+= *)?)(?:[!%?].*|[\w.]+\?+)$", re.MULTILINE)


def bound_names(text: str) -> set[str]:
    """The names that a program's own statements define, import or assign; none if it can't be parsed.

    Lines that only IPython knows, like `%pip` and `files = !ls`, are passed over.
    """
    statements: list[ast.stmt] = []
    for program in (text, COMMAND.sub(r"\1None", text)):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            statements = ast.parse(program).body
            break
    found: set[str] = set()
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign):
            names = (name for target in node.targets for name in ast.walk(target))
            found |= {name.id for name in names if isinstance(name, ast.Name)}
    return found


# what gives another value in each process, and what does so without an argument
CLOCKS = {
    *("clock_gettime", "clock_gettime_ns", "getloadavg", "getpid", "getrandom", "getrusage"),
    *("get_ident", "monotonic", "monotonic_ns", "now", "perf_counter", "perf_counter_ns"),
    *("process_time", "process_time_ns", "thread_time", "thread_time_ns", "time", "time_ns"),
    *("today", "utcnow"),
}
UNSEEDED = {"Random", "seed"}


def clocks_in(text: str) -> dict[str, str]:
    """Names that a program's statements bind, with a call in that statement whose value no run repeats."""
    statements: list[ast.stmt] = []
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        statements = ast.parse(COMMAND.sub(r"\1None", text)).body
    found: dict[str, str] = {}
    for node in statements:
        for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if name in CLOCKS or (name in UNSEEDED and not call.args and not call.keywords):
                code = ast.unparse(ast.Module([node], []))
                found |= dict.fromkeys(bound_names(code), ast.unparse(call.func)[:60])
    return found


def spans_of(source: str) -> dict[str, tuple[int, int]]:
    """Top-level functions and classes of a program: name -> (first line, last line), from 1."""
    return dict(_spans(source))


# a catalogue asks for the same few programs hundreds of times
@functools.lru_cache(maxsize=128)
def _spans(source: str) -> dict[str, tuple[int, int]]:
    spans = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            spans[node.name] = (first, node.end_lineno or first)
    return spans


def definition_source(program: str, name: str) -> str:
    """The text of one top-level definition; CatalogueError when the program has none of that name."""
    spans = spans_of(program)
    if name not in spans:
        raise CatalogueError(f"The reference solution defines no {name!r}.")
    first, last = spans[name]
    return "\n".join(program.split("\n")[first - 1 : last])


def without_markers(source: str) -> str:
    """A program without nbgrader's solution markers."""
    lines = source.split("\n")
    return "\n".join(line for line in lines if "### BEGIN" not in line and "### END" not in line)


def names_in(source: str) -> set[str]:
    """The names that a piece of code uses."""
    return names_in_tree(ast.parse(source))


def names_in_tree(tree: ast.AST) -> set[str]:
    """The names that a part of a syntax tree uses."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def reached(names: Iterable[str], uses: Mapping[str, Iterable[str]]) -> set[str]:
    """Some names and those that they use, directly or through others; uses: by name."""
    found: set[str] = set()
    new = set(names)
    while new:
        found |= new
        new = set().union(*(uses.get(name, ()) for name in new)) - found
    return found


@functools.lru_cache(maxsize=256)
def imported_packages(text: str) -> frozenset[str]:
    """The packages that a program's import statements name, without their submodules. Raises SyntaxError."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


# reading it takes more than a millisecond, and a build asks a thousand times
@functools.cache
def plain_version(package: str) -> str:
    """An installed package's version without what builds of one version add, like +cpu.

    Raises CourseError when it isn't installed.
    """
    try:
        return version(package).partition("+")[0]
    except PackageNotFoundError as error:
        raise CourseError(
            f"{package} is needed and not installed. Install it in the environment of this command "
            f"(`{sys.executable} -m pip install {package}`), then run the command again."
        ) from error
