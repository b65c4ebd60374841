"""Right versions of answers, which the grader puts in place of wrong ones when it follows through.

In: an exercise and a secret. Out: for its answers expressions that give right versions, made from the reference
solution. It holds the answer and what it uses, and nothing else. Only names that the statement
specifies are kept, so that nobody finds the right version of another answer in it by its name.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nbformat import NotebookNode

from autograder.catalogue import definitions, without_markers
from autograder.course import Exercise
from autograder.dependencies import Dependencies, names_in
from autograder.errors import CatalogueError
from autograder.exercises import is_answer_cell, is_grade_cell
from autograder.programs import without_docstrings

INLINE_CODE = re.compile(r"`([^`\n]+)`")
IDENTIFIER = re.compile(r"[^\W\d]\w*")
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
            found.update(_identifiers(ast.parse(re.sub(r"^%%.*", "", cell.source))))
    return frozenset(found)


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


def right_versions(
    exercise: Exercise, specified: frozenset[str], seed: Sequence[int]
) -> dict[str, str]:
    """For every answer but the last one, which none can use, an expression for a right version of it.

    specified: from `specified_names`; seed: secret, renames everything else. Raises CatalogueError when
    an answer uses a later one, whose right version would be in place before its own checks have run.
    """
    program = exercise.program()
    own = list(definitions(program))
    found = {}
    for number, name in enumerate(own[:-1]):
        used = Dependencies(exercise.root, in_doubt=False)
        used.add(f"solutions.{exercise.name}", name)
        needed = [one for module in used.modules for one in module.used if not one.imports]
        later = sorted(set().union(*(one.binds for one in needed)) & set(own[number + 1 :]))
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
        secret = hashlib.sha256(json.dumps([list(seed), name]).encode()).hexdigest()
        source = ast.unparse(_renamed(tree, name, specified, secret))
        found[name] = (
            f"(lambda names: exec({source!r}, names) or names[{name!r}])"
            "({'__name__': '__main__'})"
        )
    return found


def _library_imports(programs: Iterable[str], used: set[str]) -> list[ast.stmt]:
    """The imports of the names in use in some programs, without those of other solutions."""
    found, missing = [], set(used)
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


def _renamed(tree: ast.Module, answer: str, specified: frozenset[str], secret: str) -> ast.Module:
    """A program in which whatever is defined and not specified has another name."""

    def other(name: str) -> str:
        return "_" + hashlib.sha256(f"{secret} {name}".encode()).hexdigest()[:16]

    local, parameters = _local_names(tree)
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    # how a function is called is part of its statement, here or in an earlier exercise
    local -= specified | parameters | keywords | set(dir(builtins))
    renamer = _Renamer(
        {one.name: other(one.name) for one in tree.body if _is_other(one, answer)},
        {name: other(f"local {name}") for name in local},
        {name: other(f"self.{name}") for name in _own_attributes(tree) - specified},
    )
    return ast.fix_missing_locations(renamer.visit(tree))


def _is_other(node: ast.stmt, answer: str) -> bool:
    """Whether a statement of a program defines another answer, or a helper."""
    return isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and node.name != answer


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
        definitions: Mapping[str, str],
        local: Mapping[str, str],
        attributes: Mapping[str, str],
    ) -> None:
        self._definitions, self._local, self._attributes = definitions, local, attributes
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
        return self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        node.names = [self._name(name) for name in node.names]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            node.attr = self._attributes.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self._name(node.name)
        return self.generic_visit(node)

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
