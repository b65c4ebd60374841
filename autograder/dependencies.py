"""What code depends on: imports and definitions, followed through the course's own modules.

A module counts statement by statement. Those count that bind a name in use, with all that they use in
turn, and those of every loaded module that do more than bind names. Where the text doesn't tell what is
used (a module that is handed on as an object, `import *`, `globals()`), the whole module counts. So a
change is never missed, and one in a function that nothing reaches changes nothing.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib.util
import re
import symtable
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from autograder.files import digest_of_files
from autograder.programs import DEFINITIONS, code_of, names_in_tree, reached, without_docstrings

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# decorators of other packages that do nothing but change what a name stands for
INERT = {"cache", "cached_property", "contextmanager", "dataclass", "inference_mode", "lru_cache"}
INERT |= {"no_grad", "total_ordering", "wraps"}
# with these a statement can use what it doesn't name: of its own module, or of any module
OWN_NAMESPACE = {"__builtins__", "builtins", "eval", "exec", "getattr", "globals", "locals", "vars"}
ANY_NAMESPACE = {"__globals__", "__import__", "__subclasses__", "f_globals", "get_objects"}
ANY_NAMESPACE |= {"import_module", "run_module", "run_path", "sys.modules"}
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
# characters; a name of a file has no more
MAX_PATH = 200
# the nodes that can bind a name
BINDING: tuple[type[ast.AST], ...] = (ast.Name, *DEFINITIONS, ast.alias, ast.ExceptHandler)
BINDING += (ast.MatchAs, ast.MatchStar, ast.MatchMapping)

# a module's name, and the name imported from it: None for the module itself, "*" for all
Import = tuple[str, str | None]


@functools.lru_cache(maxsize=128)
def answers_used(program: str) -> Mapping[str, frozenset[str]]:
    """The answers of a program, its functions and classes, each with the other answers that it uses."""
    used = {
        node.name: names_in_tree(node) for node in ast.parse(program).body if _is_definition(node)
    }
    return {name: frozenset(names & used.keys() - {name}) for name, names in used.items()}


def depends_on(program: str, name: str) -> set[str]:
    """The answers of a program that use an answer, directly or through others, itself included."""
    uses = answers_used(program)
    return {name} | {answer for answer in uses if name in reached([answer], uses)}


# A module's statements ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Statement:
    """A statement of a module's top level; an import of several names is several statements.

    text: as it stands there, with decorators; binds: names of the module that it binds or declares
    `global`; uses: names of the module that code in it may read; imports: all that stand in it; loads:
    those that are executed when the module is; runs: whether it may do more than bind names, even if
    the names in foreign come from outside the course; words: names in it that give access to a
    namespace; paths: texts in it that may be paths.
    """

    node: ast.stmt
    text: str
    binds: frozenset[str]
    uses: frozenset[str]
    imports: tuple[Import, ...]
    loads: tuple[Import, ...]
    runs: bool
    foreign: frozenset[str]
    words: frozenset[str]
    paths: frozenset[str]

    @functools.cached_property
    def code(self) -> str:
        """The statement without docstrings, comments and spacing."""
        return code_of(self.node)


def _is_definition(node: ast.AST) -> TypeGuard[Definition]:
    return isinstance(node, DEFINITIONS)


@functools.lru_cache(maxsize=512)
def statements_of(program: str, package: str = "") -> tuple[Statement, ...]:
    """The statements of a program; package: that relative imports start from. Raises SyntaxError."""
    tables = symtable.symtable(program, "<module>", "exec").get_children()
    lines, found = program.split("\n"), []
    for node in without_docstrings(ast.parse(program)).body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        text = "\n".join(lines[first - 1 : node.end_lineno])
        inner = [one for one in tables if first <= one.get_lineno() <= (node.end_lineno or first)]
        found += [_statement(part, text, inner, package) for part in _parts(node)]
    return tuple(found)


def _parts(node: ast.stmt) -> Iterator[ast.stmt]:
    """A statement, or those that import one name each."""
    match node:
        case ast.Import(names=names):
            yield from (ast.Import([alias]) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            yield from (ast.ImportFrom(module, [alias], level) for alias in names)
        case _:
            yield node


def _statement(
    node: ast.stmt, text: str, tables: Sequence[symtable.SymbolTable], package: str
) -> Statement:
    below: dict[type, list[Any]] = {}
    for part in ast.walk(node):
        below.setdefault(type(part), []).append(part)
    of = lambda *types: (part for one in types for part in below.get(one, ()))
    imports = tuple(
        one for part in of(ast.Import, ast.ImportFrom) for one in _imported(part, package)
    )
    loads = tuple(one for part in _executed(node) for one in _imported(part, package))
    if _is_definition(node):
        outside = [*node.decorator_list, *_headers(node)]
        uses = set().union(*map(names_in_tree, outside), *map(_globals, tables))
        binds = {node.name}
    else:
        uses = {part.id for part in of(ast.Name)}
        binds = set().union(*(map(_bound, of(*BINDING))))
    binds.update(name for part in of(ast.Global) for name in part.names)
    texts = {part.value for part in of(ast.Constant) if isinstance(part.value, str)}
    texts.update(_joined(part) for part in of(ast.BinOp))
    words = map(_words, of(ast.Name, ast.Attribute, ast.ImportFrom))
    return Statement(
        node,
        text,
        frozenset(binds),
        frozenset(uses),
        imports,
        loads,
        _runs(node) or any(name == "*" for _, name in loads),
        frozenset(_foreign(node)),
        frozenset().union(*words),
        frozenset(text for text in texts if len(text) < MAX_PATH and PATH.fullmatch(text)),
    )


def _imported(node: ast.AST, package: str) -> Iterator[Import]:
    match node:
        case ast.Import(names=[*names]):
            for alias in names:
                # `import a.b` binds a
                yield from [] if alias.asname else [(alias.name.partition(".")[0], None)]
                yield alias.name, None
        case ast.ImportFrom(module=module, names=names, level=level):
            # outside a package a relative import raises, here as when it is executed
            with contextlib.suppress(ImportError):
                source = importlib.util.resolve_name("." * level + (module or ""), package)
                yield from ((source, alias.name) for alias in names)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that are executed with a statement: not what stands in functions."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):
                yield from _executed(child)


def _headers(node: Definition) -> Iterator[ast.expr]:
    """What a definition evaluates when it is made, beside its decorators and a class's body."""
    if isinstance(node, ast.ClassDef):
        yield from [*node.bases, *(one.value for one in node.keywords)]
        return
    arguments = node.args
    yield from filter(None, [*arguments.defaults, *arguments.kw_defaults, node.returns])
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += filter(None, [arguments.vararg, arguments.kwarg])
    yield from (one.annotation for one in every if one.annotation)


def _globals(table: symtable.SymbolTable) -> set[str]:
    """The names that code in a scope may look up in its module."""
    in_class = table.get_type() == "class"
    own = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_global() or (in_class and symbol.is_referenced())
    }
    return own.union(*map(_globals, table.get_children()))


def _bound(node: ast.AST) -> set[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return {name}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.alias(name=name, asname=asname):
            return {asname or name.partition(".")[0]}
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return {name}
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return {name}
    return set()


def _runs(node: ast.stmt) -> bool:
    """Whether executing a statement may do more than bind names."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return False
        case ast.If(orelse=[]) if ast.unparse(node.test) == "__name__ == '__main__'":
            return False
        case ast.Assign(targets=targets, value=value):
            return not (all(map(_is_target, targets)) and _is_plain(value))
        case ast.AnnAssign(target=ast.Name(), annotation=annotation, value=value):
            return _calls(annotation) or not (value is None or _is_plain(value))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            arguments = node.args
            values = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
            return (
                not all(map(_is_plain, values))
                or any(map(_calls, _headers(node)))
                or not all(map(_is_inert, node.decorator_list))
            )
        case ast.ClassDef():
            return (
                bool(node.keywords)
                or any(map(_calls, node.bases))
                or not all(map(_is_inert, node.decorator_list))
                or any(map(_runs, node.body))
            )
    return True


def _is_target(node: ast.expr) -> bool:
    """Whether assigning to it binds names, and changes no object."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(map(_is_target, parts))
    return isinstance(node, ast.Name)


def _is_plain(node: ast.expr) -> bool:
    """Whether evaluating it calls nothing that somebody has written."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return all(map(_is_plain, parts))
        case ast.Dict(keys=keys, values=values):
            named = [key for key in keys if key is not None]
            return len(named) == len(keys) and all(map(_is_plain, [*named, *values]))
        case ast.Lambda(args=arguments):
            return all(map(_is_plain, [*arguments.defaults, *filter(None, arguments.kw_defaults)]))
        case ast.UnaryOp() | ast.BinOp():
            return not {type(n) for n in ast.walk(node)} & {ast.Call, ast.Name, ast.Attribute}
    return isinstance(node, ast.Constant | ast.Name)


def _calls(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Call | ast.NamedExpr | ast.Await) for part in ast.walk(node))


def _is_inert(decorator: ast.expr) -> bool:
    """Whether a decorator, if it is another package's, only changes what a name stands for."""
    if isinstance(decorator, ast.Call):
        given = [*decorator.args, *(one.value for one in decorator.keywords)]
        return all(map(_is_plain, given)) and _is_inert(decorator.func)
    match decorator:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in INERT or name in ("classmethod", "property", "setter", "staticmethod")
    return False


def _foreign(node: ast.stmt) -> set[str]:
    """The names that have to come from outside the course, so that a definition does nothing else.

    A base class of the course's own may act on its subclasses, a decorator on what it decorates.
    """
    if not _is_definition(node):
        return set()
    bases = getattr(node, "bases", [])
    parts = node.body if isinstance(node, ast.ClassDef) else []
    inner = [_foreign(part) for part in parts]
    return set().union(*map(names_in_tree, [*node.decorator_list, *bases]), *inner)


def _joined(node: ast.BinOp) -> str:
    """`folder / "a" / "b"` as a/b; empty for what is no such path."""
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=str(name))):
            before = _joined(left) if isinstance(left, ast.BinOp) else ""
            return f"{before}/{name}" if before else name
    return ""


def _words(node: ast.AST) -> set[str]:
    """The words in a node that may give access to a namespace."""
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
            return {"sys.modules"}
        case ast.Name(id=name):
            return {name} & (OWN_NAMESPACE | ANY_NAMESPACE)
        case ast.Attribute(attr=name):
            return {name} & ANY_NAMESPACE
        case ast.ImportFrom(module="sys", names=names):
            return {"sys.modules" for alias in names if alias.name == "modules"}
    return set()


# Modules, and what of them counts -----------------------------------------------------------------


@dataclass(eq=False)
class Module:
    """A module of the course, and the numbers of its statements that count.

    left_out: names whose statements don't count; met: those of them that something uses.
    """

    path: Path
    statements: tuple[Statement, ...]
    left_out: frozenset[str] = frozenset()
    counted: set[int] = field(default_factory=set)
    met: set[str] = field(default_factory=set)

    @functools.cached_property
    def binders(self) -> Mapping[str, list[int]]:
        """The numbers of the statements that bind each name."""
        found: dict[str, list[int]] = {}
        for number, statement in enumerate(self.statements):
            for name in statement.binds:
                found.setdefault(name, []).append(number)
        return found

    @property
    def used(self) -> list[Statement]:
        """The statements that count."""
        return [self.statements[number] for number in sorted(self.counted)]


class Dependencies:
    """What code depends on, of the modules in a course's folder.

    root: the course's folder; folders: where modules are looked for, from there; in_doubt: whether,
    beside what is used by its name, all counts that may be used or may act when a module is loaded.
    """

    def __init__(self, root: Path, folders: Sequence[str] = ("",), in_doubt: bool = True) -> None:
        self._root, self._folders, self._in_doubt = root, folders, in_doubt
        self._modules: dict[str, Module | None] = {}
        # in the order in which Python ends their execution
        self._loaded: list[Module] = []
        self._waiting: list[tuple[Module, Statement]] = []
        # modules that code has as objects: all below them that is loaded can be used
        self._objects: set[str] = set()
        self._entries: dict[Path, set[str]] = {}

    @property
    def modules(self) -> list[Module]:
        """The modules of which something counts, each behind those that it imports."""
        return [module for module in self._loaded if module.counted]

    def add_program(self, path: Path, program: str, package: str = "") -> None:
        """Add a program with all that it depends on. path: where it stands. Raises SyntaxError."""
        module = Module(path, statements_of(program, package))
        self._enter(module)
        self._count(module, range(len(module.statements)))
        self._settle()

    def add_definition(
        self, path: Path, program: str, name: str, left_out: Iterable[str]
    ) -> set[str]:
        """Add a function of a program with what it depends on, and nothing else of what that does.

        left_out: names that aren't followed; those of them that are used are returned.
        """
        module = Module(path, statements_of(program), frozenset(left_out))
        self._loaded.append(module)
        numbers = [
            number
            for number in module.binders.get(name, ())
            if _is_definition(module.statements[number].node)
        ]
        self._count(module, numbers or range(len(module.statements)))
        self._settle()
        return module.met

    def add_uses(self, path: Path, program: str, name: str) -> None:
        """Add the statements of a program that use a name, with what else they depend on."""
        module = Module(path, statements_of(program), frozenset([name]))
        self._loaded.append(module)
        uses = (n for n, one in enumerate(module.statements) if name in one.uses)
        self._count(module, uses)
        self._settle()

    def add(self, module: str, name: str) -> None:
        """Add what a name of a module depends on."""
        self._need(module, name)
        self._settle()

    def key(self) -> dict[str, Any]:
        """All of it as JSON: code without words, and digests of the files that it names."""
        files = {path for module in self.modules for path in self._files(module)}
        return {
            "modules": [[self._place(m.path), list(self._listed(m))] for m in self.modules],
            "files": {self._place(path): digest_of_files([path], self._root) for path in files},
        }

    def _place(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _listed(self, module: Module) -> Iterator[str]:
        """The code of what counts; also when imports are executed, if the module does more than bind."""
        acts = any(self._acts(module, statement) for statement in module.used)
        for number, statement in enumerate(module.statements):
            if number in module.counted:
                yield statement.code
            elif acts:
                yield from (f"import {name}" for name, _ in statement.loads if self._load(name))

    def _files(self, module: Module) -> Iterator[Path]:
        """The files that a module names, by their path from its folder or one above it."""
        folders = [folder for folder in module.path.parents if folder.is_relative_to(self._root)]
        texts = frozenset().union(*(statement.paths for statement in module.used))
        for folder in folders:
            if folder not in self._entries:
                self._entries[folder] = {path.name for path in folder.iterdir()}
            for text in texts:
                # nearly all texts name no file
                if text.partition("/")[0] in self._entries[folder] and (folder / text).is_file():
                    yield folder / text

    # Loading ----------------------------------------------------------------------------------

    def _load(self, name: str) -> Module | None:
        """A module of the course by its name, with all that it imports; None for any other."""
        if name not in self._modules:
            parent = name.rpartition(".")[0]
            if parent:
                self._load(parent)
            path, module = self._find(name), None
            if path:
                package = name if path.name == "__init__.py" else parent
                module = Module(path, statements_of(path.read_text(encoding="utf-8"), package))
            self._modules[name] = module
            if module:
                self._enter(module)
        return self._modules[name]

    def _find(self, name: str) -> Path | None:
        place = name.replace(".", "/")
        for folder in self._folders:
            for path in (f"{place}/__init__.py", f"{place}.py"):
                if (self._root / folder / path).is_file():
                    return self._root / folder / path
        return None

    def _enter(self, module: Module) -> None:
        for source, name in (one for statement in module.statements for one in statement.loads):
            loaded = self._load(source)
            if loaded and name and name not in loaded.binders:
                self._load(f"{source}.{name}")
        self._loaded.append(module)
        if self._in_doubt:
            acting = (n for n, one in enumerate(module.statements) if self._acts(module, one))
            self._count(module, acting)

    def _acts(self, module: Module, statement: Statement) -> bool:
        """Whether executing a statement may do more than bind names."""
        return statement.runs or any(
            self._is_ours(module, name) for name in sorted(statement.foreign)
        )

    def _is_ours(self, module: Module, name: str) -> bool:
        """Whether a name of a module may stand for something that the course defines."""
        binders = [module.statements[number] for number in module.binders.get(name, ())]
        sources = [source for one in binders for source, _ in one.imports]
        defined = any(not one.imports for one in binders)
        unknown = not binders and not hasattr(builtins, name)
        return defined or unknown or any(map(self._load, sources))

    # Counting ---------------------------------------------------------------------------------

    def _count(self, module: Module, numbers: Iterable[int]) -> None:
        new = [number for number in numbers if number not in module.counted]
        module.counted.update(new)
        self._waiting += [(module, module.statements[number]) for number in new]

    def _need(self, name: str, part: str | None) -> None:
        """Count what a name of a module stands for; in doubt, the whole module."""
        module = self._load(name)
        if part is None:
            self._objects.add(name)
        elif module:
            if self._load(f"{name}.{part}"):
                self._objects.add(f"{name}.{part}")
            elif part not in module.binders:
                self._count(module, range(len(module.statements)))
            self._count(module, module.binders.get(part, ()))

    def _settle(self) -> None:
        """Follow what the statements that count use, until there is nothing new."""
        while self._waiting:
            module, statement = self._waiting.pop()
            module.met |= statement.uses & module.left_out
            # sorted: the order of what is loaded is a part of the key
            for name in sorted(statement.uses - module.left_out):
                self._count(module, module.binders.get(name, ()))
            for source, part in statement.imports:
                self._need(source, part)
            if self._in_doubt and statement.words:
                self._count(module, range(len(module.statements)))
            if self._in_doubt and statement.words & ANY_NAMESPACE:
                self._count_beside(module)
            if not self._waiting:
                self._count_objects()

    def _count_beside(self, module: Module) -> None:
        """Count all modules in a module's folder, any of which it can get hold of."""
        for folder in self._folders:
            place = self._root / folder
            if place in (module.path.parent, *module.path.parent.parents):
                for path in sorted(module.path.parent.glob("*.py")):
                    parts = path.relative_to(place).with_suffix("").parts
                    self._objects.add(".".join(parts))
                    self._load(".".join(parts))

    def _count_objects(self) -> None:
        for name, module in list(self._modules.items()):
            if module and any(f"{name}.".startswith(f"{one}.") for one in self._objects):
                self._count(module, range(len(module.statements)))
