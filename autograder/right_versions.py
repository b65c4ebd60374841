"""Right versions of answers, which the grader puts in place of wrong ones when it follows through.

In: an exercise and a secret. Out: for its answers expressions that give right versions, made from the reference
solution. It holds the answer and what it uses, and nothing else. Only names that the statement
specifies are kept, so that nobody finds the right version of another answer in it by its name.
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from autograder.course import Exercise
from autograder.dependencies import Dependencies
from autograder.errors import CatalogueError
from autograder.exercises import is_answer_cell, is_grade_cell
from autograder.programs import names_in, spans_of, without_docstrings, without_markers

INLINE_CODE = re.compile(r"`([^`\n]+)`")
IDENTIFIER = re.compile(r"[^\W\d]\w*")
# what something is called that has another name under every seed, and its stand-in before there is a seed
HIDDEN = re.compile(r"\b_[0-9a-f]{16}\b")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def specified_names(notebooks: Iterable[NotebookNode]) -> frozenset[str]:
    """The names that released exercises tell students to use.

    They stand as code in their text, in the stubs of the answers and in the checks.
    """
    found: set[str] = set()
    for cell in (cell for notebook in notebooks for cell in notebook.cells):
        if cell.cell_type == "markdown":
            for code in INLINE_CODE.findall(cell.source):
                found.update(IDENTIFIER.findall(code))
        elif is_answer_cell(cell) or is_grade_cell(cell):
            found |= _names_in_code(cell.source)
    return frozenset(found)


# an exercise has those of all earlier ones
@functools.lru_cache(maxsize=1024)
def _names_in_code(source: str) -> frozenset[str]:
    return frozenset(_identifiers(ast.parse(re.sub(r"^%%.*", "", source))))


def _identifiers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Constant(value=str(text)) if text.isidentifier():
                # the name of a buffer, or an expression that a check holds as text
                yield text
            case ast.Call(func=ast.Name(id="check"), args=[ast.Constant(value=str(text)), *_]):
                yield from _identifiers(ast.parse(text))


@dataclass(frozen=True)
class _Template:
    """A right version of an answer in which what is renamed under a seed has stand-ins as names.

    source: the program; renamed: by stand-in, what the name under a seed is made from.
    """

    answer: str
    source: str
    renamed: Mapping[str, str]

    def under(self, seed: Sequence[int]) -> str:
        """The expression that gives the right version."""
        secret = hashlib.sha256(json.dumps([list(seed), self.answer]).encode()).hexdigest()
        names = {stand_in: _hidden(secret, name) for stand_in, name in self.renamed.items()}
        source = HIDDEN.sub(lambda found: names.get(found[0], found[0]), self.source)
        return (
            f"(lambda names: exec({source!r}, names) or names[{self.answer!r}])"
            "({'__name__': '__main__'})"
        )


class RightVersions:
    """The right versions of an exercise's answers, but for the last one, which no other can use.

    Each submission with a seed of its own has its own: the programs are read once for all of them.
    """

    def __init__(self, exercise: Exercise, specified: frozenset[str]) -> None:
        """specified: from `specified_names`.

        Raises CatalogueError when an answer uses a later one, whose right version would be in place
        before its own checks have run.
        """
        own = list(spans_of(exercise.program()))
        self._templates = [
            _template(exercise, name, specified, own[number + 1 :])
            for number, name in enumerate(own[:-1])
        ]

    def under(self, seed: Sequence[int]) -> dict[str, str]:
        """By answer, an expression for a right version of it; seed: secret, renames what isn't specified."""
        return {template.answer: template.under(seed) for template in self._templates}


def _template(
    exercise: Exercise, name: str, specified: frozenset[str], follow: Sequence[str]
) -> _Template:
    """follow: the answers that come later."""
    used = Dependencies(exercise.root, in_doubt=False)
    used.add(f"solutions.{exercise.name}", name)
    needed = [one for module in used.modules for one in module.used if not one.imports]
    later = sorted(set().union(*(one.binds for one in needed)) & set(follow))
    if later:
        raise CatalogueError(
            f"solutions/{exercise.name}.py: {name!r} uses {', '.join(map(repr, later))}, which comes "
            "later. Put what an answer uses before it, so that a right version of it holds no "
            "answer whose checks have not run."
        )
    kept = "\n\n".join(without_markers(one.text) for one in needed)
    tree = _without_words(ast.parse(kept))
    programs = [module.path.read_text(encoding="utf-8") for module in reversed(used.modules)]
    tree.body = _library_imports(programs, names_in(ast.unparse(tree))) + tree.body
    renamed: dict[str, str] = {}
    source = ast.unparse(_renamed(tree, name, specified, renamed))
    return _Template(name, source, renamed)


def _hidden(secret: str, name: str) -> str:
    """What a name becomes under a secret; see HIDDEN."""
    return "_" + hashlib.sha256(f"{secret} {name}".encode()).hexdigest()[:16]


def _library_imports(programs: Iterable[str], used: set[str]) -> list[ast.stmt]:
    """The imports of the names in use in some programs, without those of other solutions."""
    found: list[ast.stmt] = []
    missing = set(used)
    for node in (node for program in programs for node in ast.parse(program).body):
        module = getattr(node, "module", "") or ""
        if isinstance(node, ast.Import | ast.ImportFrom) and not module.startswith("solutions"):
            names = {(a.asname or a.name).split(".")[0]: a for a in node.names}
            node.names = [alias for name, alias in names.items() if name in missing]
            missing -= names.keys()
            found += [node] if node.names else []
    return found


def _without_words(tree: ast.Module) -> ast.Module:
    """A program without docstrings and annotations."""
    for node in ast.walk(without_docstrings(tree)):
        if isinstance(node, _FUNCTIONS):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return tree


def _renamed(
    tree: ast.Module, answer: str, specified: frozenset[str], renamed: dict[str, str]
) -> ast.Module:
    """A program in which whatever is defined and not specified has a stand-in as its name.

    renamed: is told of the stand-ins, as in `_Template`.
    """

    def other(name: str) -> str:
        stand_in = _hidden("", name)
        renamed[stand_in] = name
        return stand_in

    local, parameters = _local_names(tree)
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    # how a function is called is part of its statement, here or in an earlier exercise
    local -= specified | parameters | keywords | set(dir(builtins))
    renamer = _Renamer(
        {name: other(name) for one in tree.body if (name := _other_name(one, answer))},
        {name: other(f"local {name}") for name in local},
        {name: other(f"self.{name}") for name in _own_attributes(tree) - specified},
    )
    return ast.fix_missing_locations(renamer.visit(tree))


def _other_name(node: ast.stmt, answer: str) -> str:
    """The name of the other answer, or helper, that a statement of a program defines; else empty."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return "" if node.name == answer else node.name
    return ""


def _local_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names bound inside functions and methods, and the parameters of these."""
    outer = [node for node in tree.body if isinstance(node, _FUNCTIONS)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            outer += [part for part in node.body if isinstance(part, _FUNCTIONS)]
    local: set[str] = set()
    parameters: set[str] = set()
    for function in outer:
        parameters.update(a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg))
        for statement in function.body:
            local.update(_bound(ast.walk(statement)))
    return local, parameters


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that some nodes bind."""
    found = set()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name):
                found.add(name)
            case ast.ExceptHandler(name=str(name)):
                found.add(name)
    return found


def _own_attributes(tree: ast.Module) -> set[str]:
    """The attributes that methods set on their object."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


class _Renamer(ast.NodeTransformer):
    """Renames a program's own definitions, local names and attributes, each by a table of its own."""

    def __init__(
        self,
        spans_of: Mapping[str, str],
        local: Mapping[str, str],
        attributes: Mapping[str, str],
    ) -> None:
        self._definitions, self._local, self._attributes = spans_of, local, attributes
        # the names bound in each enclosing function, which hide definitions of the same name
        self._scopes: list[set[str]] = []

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self._scopes)

    def _name(self, name: str) -> str:
        table = self._local if self._is_local(name) else self._definitions
        return table.get(name, name)

    def _within(self, bound: set[str], nodes: Sequence[ast.AST]) -> list[Any]:
        self._scopes.append(bound)
        found = [self.visit(node) for node in nodes]
        self._scopes.pop()
        return found

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._name(node.id)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        node.name = node.name and self._name(node.name)
        self.generic_visit(node)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        node.names = [self._name(name) for name in node.names]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            node.attr = self._attributes.get(node.attr, node.attr)
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self._name(node.name)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        # a method keeps its name: in a class there is no scope, and no definition of that name
        node.name = self._name(node.name)
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        bound = _bound(part for statement in node.body for part in ast.walk(statement))
        node.body = self._within(bound | self._arguments(node.args), node.body)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        bound = _bound(ast.walk(node.body)) | self._arguments(node.args)
        (node.body,) = self._within(bound, [node.body])
        return node

    def _arguments(self, arguments: ast.arguments) -> set[str]:
        """Rename parameters, and what their defaults use, outside; returns the parameters."""
        found = {node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)}
        arguments.defaults = [self.visit(node) for node in arguments.defaults]
        arguments.kw_defaults = [node and self.visit(node) for node in arguments.kw_defaults]
        for node in ast.walk(arguments):
            if isinstance(node, ast.arg):
                node.arg = self._local.get(node.arg, node.arg)
        return found
