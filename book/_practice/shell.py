"""Runs a task of an exercise in a page: a small stand-in for IPython around the notebook's own cells.

It is loaded into the Python of the browser (worker.js), and into CPython by tests/support/practice.py, and
needs the standard library and NumPy only. Whatever it has to say it writes as lines of JSON:
`{"out": text}` for what code prints, `{"map": weights}` for what is to be drawn, `{"case": rows}` for a table,
`{"steps": rows}` for the names that lines of a reader's code give values to,
`{"point": [step, loss, share right]}` of a curve, `{"done": result}` at the end of a job.

The NumPy of the browser is older than the one that the course is pinned to, and a stand-in takes torch's place
where an exercise brings it along (torch_stand_in/). What they lack never leads to a verdict: it is noted, and the
job's result says what was lacking.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import linecache
import re
import sys
import sysconfig
import traceback
import types
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, ClassVar

import numpy as np

# characters that one job may print
MAX_OUTPUT = 40_000
# of arrays that a case shows, entries, and of anything else characters
MAX_ENTRIES, MAX_TEXT = 24, 300
# of a case's steps, rows
MAX_STEPS = 40
# what a hint says of the notebook, and what it says here
OF_NOTEBOOKS = (
    "`case = failing_case()` gives small inputs to try: print(case).",
    "Show a failing case: it has small inputs to try.",
)
NAMED = "This looks like a known mistake: "
# how an answer's text begins as it is handed out, and how one ends that isn't right
TO_DO, NOT_YET = "To do", "Not yet: "
NOT_WRITTEN = re.compile(r"raise NotImplementedError *$", flags=re.M)
WRITE = "Write your code in place of `raise NotImplementedError`."
# a warning looks for it, to say where something was made, and does without
NOT_NEEDED = "tracemalloc"
# stands before a line that the page folds away, behind the last one without it
FOLDED = "\x1f"
# where packages lie; to ask for it may import a module
PACKAGES = sysconfig.get_path("purelib")
CUT = "\n… The rest of the output is left out.\n"
# how the files of a reader's code and of a check's are called (autograder/runtime/evaluate.py)
FOLDER, OURS, CHECK = "/practice/", "/ours/", "<autotest>"

_lines = sys.stdout


class Notes(dict[str, bool]):
    """What a job has asked for that isn't there, in order: whether a reader's code did so, and not only a check."""

    def __setitem__(self, name: str, _: object) -> None:
        frame: types.FrameType | None = sys._getframe(1)
        while frame and not frame.f_code.co_filename.startswith((FOLDER, CHECK)):
            frame = frame.f_back
        by_reader = frame is not None and frame.f_code.co_filename.startswith(FOLDER)
        super().__setitem__(name, self.get(name, False) or by_reader)


_lacking = Notes()


def _what_lacks() -> dict[str, list[str]]:
    """The same, as a part of a job's result."""
    return {
        "lacking": [name for name, by_reader in _lacking.items() if by_reader],
        "check_lacks": [name for name, by_reader in _lacking.items() if not by_reader],
    }


def _say(**message: Any) -> None:
    _lines.write(json.dumps(message) + "\n")
    _lines.flush()


class Printed(io.TextIOBase):
    """What code prints, as messages, up to a length."""

    left, text = MAX_OUTPUT, ""

    def writable(self) -> bool:
        """It is made for that."""
        return True

    def write(self, text: str) -> int:
        """Pass a text on, or its beginning."""
        if self.left > 0:
            _say(out=text[: self.left] + (CUT if len(text) > self.left else ""))
        self.left -= len(text)
        self.text += text
        return len(text)


class Lacking:
    """Stands for a module that isn't there, and notes that somebody asked for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        _lacking[self._name] = None
        raise AttributeError(f"{self._name} is not available in the page")


class NoteMissingModules:
    """The last finder: notes what can't be imported here."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Find nothing."""
        if name != NOT_NEEDED:
            _lacking[name] = None


class StandIn(importlib.abc.Loader):
    """Finds modules that came as text, by name: those of the stand-in for torch where Python has none, and what
    learns in pages.
    """

    sources: ClassVar[dict[str, str]] = {}

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find such a module."""
        if name not in self.sources:
            return None
        is_package = any(other.startswith(f"{name}.") for other in self.sources)
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run it; what it refuses is noted here."""
        # in a folder of packages, so that errors are told at the lines of those who call it
        filename = f"{PACKAGES}/{module.__name__.replace('.', '/')}.py"
        exec(compile(self.sources[module.__name__], filename, "exec"), vars(module))
        if module.__name__ == "torch.refusals":
            vars(module)["noted"] = _lacking


def _lacks(name: str) -> property:
    def get(_: Any) -> Any:
        _lacking[name] = None
        raise AttributeError(f"{name} is not available in the page")

    return property(get)


def fit_numpy(names: dict[str, list[str]]) -> None:
    """Give NumPy the names of another version.

    names: the public names of "numpy" and of "ndarray" there. What this version has beside them is taken
    away, but for NumPy's own modules, which use some of it; what it lacks is noted when somebody asks for
    it. Only `mT`, which checks need, is put in.
    """
    whole = types.ModuleType(np.__name__)
    vars(whole).update(vars(np))
    for module in [one for name, one in sys.modules.items() if name.startswith("numpy.")]:
        vars(module).update({name: whole for name, one in vars(module).items() if one is np})
    for name in [name for name in vars(np) if not name.startswith("_")]:
        if name not in names["numpy"] and not isinstance(getattr(np, name), types.ModuleType):
            delattr(np, name)
    lacking = set(names["numpy"]) - set(dir(np))
    older = getattr(np, "__getattr__", None)

    def find(name: str) -> Any:
        if name in lacking:
            _lacking[f"np.{name}"] = None
        if older is None:
            raise AttributeError(f"module 'numpy' has no attribute {name!r}")
        return older(name)

    vars(np)["__getattr__"] = find
    # the class is written in C, and its own dictionary is reached in no other way
    (attributes,) = gc.get_referents(np.ndarray.__dict__)
    for name in set(names["ndarray"]) - set(dir(np.ndarray)):
        attributes[name] = _lacks(f"array.{name}")
    if "mT" not in dir(np.ndarray) or isinstance(attributes["mT"], property):
        attributes["mT"] = property(lambda array: array.swapaxes(-1, -2))


# functions that add up or multiply the numbers of a sequence, and methods that give integers
OF_SEQUENCES = ("sum", "prod", "cumsum", "cumprod", "dot", "inner", "outer", "vdot")
OF_ARRAYS = (
    *("sum", "prod", "cumsum", "cumprod", "trace", "astype"),
    *("argmax", "argmin", "argsort", "argpartition", "searchsorted", "nonzero"),
)


def make_integers_int64() -> None:
    """Let NumPy give int64 wherever it gives int32 only because an integer has 32 bits in the browser.

    In a notebook it has 64 bits, and a product of sizes that fits there would overflow here. What is asked for as
    int32 stays so. Operators between booleans and Python's integers aren't reached.
    """
    if np.dtype(int) == np.int64:
        return
    for name, function in list(vars(np).items()):
        kinds = types.FunctionType | types.BuiltinFunctionType
        if isinstance(function, kinds) and not name.startswith("_"):
            setattr(np, name, _in_64_bits(function, name in OF_SEQUENCES))
    (attributes,) = gc.get_referents(np.ndarray.__dict__)
    for name in OF_ARRAYS:
        attributes[name] = _in_64_bits(attributes[name], False)
    vars(np)["int_"] = np.int64
    # it holds the methods that Python has looked up before
    sys._clear_type_cache()


def _in_64_bits(function: Callable, of_sequence: bool) -> Callable:
    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        arguments = [np.int64 if one is int else one for one in given]
        if named.get("dtype") is int:
            named["dtype"] = np.int64
        if of_sequence and arguments and isinstance(arguments[0], list | tuple):
            arguments[0] = np.asarray(arguments[0])
        found = function(*arguments, **named)
        asked = "dtype" in named or any(
            isinstance(one, str | type | np.dtype) or _has_32_bits(one) for one in arguments
        )
        return found if asked and function.__name__ != "einsum" else _widened(found)

    return call


def _has_32_bits(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype.char in "il"


def _widened(found: Any) -> Any:
    if _has_32_bits(found):
        return np.int64(found) if isinstance(found, np.generic) else found.astype(np.int64)
    return type(found)(map(_widened, found)) if type(found) in (tuple, list) else found


class Shell(types.SimpleNamespace):
    """What the checks use of IPython: names, and magics of cells."""

    def __init__(self) -> None:
        super().__init__(user_ns={}, magics={})

    def register_magic_function(self, function: Callable, magic_kind: str) -> None:
        """Make a magic of cells known by the function's name."""
        self.magics[function.__name__] = function

    def push(self, names: dict[str, Any]) -> None:
        """Define names."""
        self.user_ns.update(names)

    def run(self, source: str, filename: str = "<cell>") -> None:
        """Run a cell."""
        if source.startswith("%%"):
            first, _, rest = source.partition("\n")
            name, _, line = first[2:].partition(" ")
            self.magics[name](line, rest)
        else:
            exec(compile(source, filename, "exec", dont_inherit=True), self.user_ns)


_shell = Shell()


def _display(shown: Any) -> None:
    """Print what a check displays, and, marked, what it keeps behind that line."""
    print(shown)
    for line in getattr(shown, "lines", ()):
        print(FOLDED + line)


def _install_ipython() -> None:
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    vars(ipython).update(get_ipython=lambda: _shell, display=display)
    vars(display).update(display=_display)
    sys.modules |= {"IPython": ipython, "IPython.display": display}
    # what a notebook shows as HTML is printed here, and the page's Python comes without this
    if importlib.util.find_spec("html") is None:
        sys.modules["html"] = types.ModuleType("html")


def begun(source: str) -> str:
    """Code in which what nobody has written yet says so, as the checks know it from the notebook."""
    return NOT_WRITTEN.sub(f"raise NotImplementedError('{TO_DO}')", source)


def remember(name: str, source: str, folder: str = FOLDER) -> str:
    """Keep code where error messages look up its lines; returns the name of its file."""
    filename = f"{folder}{name}.py"
    linecache.cache[filename] = len(source), None, source.splitlines(True), filename
    return filename


class Exercise:
    """An exercise's notebook, as far as its tasks in pages need it.

    header: its first cell; built: what earlier exercises built, which a reader's own takes the place of;
    checker, data: those of the checks; cells: by task, the sources of its grade cells.
    """

    def __init__(
        self, header: str, built: str, checker: str, data: str, cells: dict[str, list[str]]
    ) -> None:
        global _shell
        self.shell = _shell = Shell()
        self.cells = cells
        for name in [name for name in sys.modules if name.startswith("attention_checks")]:
            del sys.modules[name]
        self._run_around(header, "<header>")
        self._run_around(built, remember("built_so_far", built, "/built/"))
        self.shell.run(checker)
        self.shell.run(data)
        self._names = dict(self.shell.user_ns)
        self._failed = self._task = ""
        self._others: Set[str] = set()

    def _run_around(self, source: str, filename: str) -> None:
        """Run a program with what only notes its use in place of modules that aren't there."""
        for statement in ast.parse(source).body:
            try:
                code = compile(ast.Module([statement], []), filename, "exec", dont_inherit=True)
                exec(code, self.shell.user_ns)
            except ModuleNotFoundError as error:
                for alias in getattr(statement, "names", []):
                    name = alias.asname or alias.name.partition(".")[0]
                    self.shell.user_ns[name] = Lacking(str(error.name))

    def _take(self, answers: dict[str, str]) -> dict[str, str]:
        """Define answers, and nothing else beside what the notebook defines.

        Returns why those that can't be run are left out, by task.
        """
        self.shell.user_ns.clear()
        self.shell.user_ns.update(self._names)
        left_out = {}
        for name, source in answers.items():
            try:
                with contextlib.redirect_stdout(None):
                    self._run_around(begun(source), remember(name, source))
            except BaseException as error:
                left_out[name] = in_own_lines(error)
                # nor the course's own in its place
                self.shell.user_ns.pop(name, None)
        # what they lack counts only when somebody uses it
        _lacking.clear()
        return left_out

    def run_cell(self, code: str, answers: dict[str, str]) -> dict[str, str]:
        """Run a cell of a page with a reader's answers; returns "error" if it can't be run.

        It may call `show_map`. answers: by task.
        """
        left_out = self._take(answers)
        self.shell.push({"show_map": show_map})
        try:
            self.shell.run(code, remember("cell", code))
        except BaseException as error:
            told = in_own_lines(error)
            if isinstance(error, NameError) and (why := left_out.get(str(error.name))):
                told += f"\nYour code for {error.name} can't be run:\n{why}"
            return {"error": told}
        return {}

    def check(self, task: str, answers: dict[str, str]) -> dict[str, Any]:
        """Check a task as the notebook does, and print what it prints.

        answers: by task, also of others that this one may use. Returns "passed", and "hints", in steps,
        for the first cell that isn't right; "error" instead, if the answer can't be run.
        """
        self._failed, self._task = "", task
        others = {name: source for name, source in answers.items() if name != task}
        left_out = self._take(others)
        self._others = others.keys()
        try:
            used = {
                node.id for node in ast.walk(ast.parse(answers[task])) if isinstance(node, ast.Name)
            }
            for name in used & left_out.keys():
                print(f"This uses your {name}, which can't be run:\n{left_out[name]}\n")
            self.shell.run(begun(answers[task]), remember(task, answers[task]))
            if task not in self.shell.user_ns:
                raise NameError(f"nothing here defines {task}")
            open_tasks = [name for name in others if NOT_WRITTEN.search(others[name])]
            own = NOT_WRITTEN.search(answers[task])
            return self._judged(task, [] if own else [name for name in open_tasks if name in used])
        except BaseException as error:
            return {"passed": False, "error": in_own_lines(error)}

    def _judged(self, task: str, waits_for: list[str]) -> dict[str, Any]:
        hints: list[str] = []
        written = True
        for cell in self.cells[task]:
            if (failure := self._failure(cell)) is None:
                continue
            if failure.startswith(TO_DO):
                names = ", ".join(f"`{name}`" for name in waits_for)
                print(f"This uses {names}: write that first." if names else WRITE)
                self._failed, written = cell, False
                break  # the other cells would say the same
            # the page says the rest, and in words of its own
            if not failure.startswith(NOT_YET):
                print(failure)
            if not self._failed:
                # where a mistake is named, its hint stands there
                named = NAMED in getattr(sys.stdout, "text", "")
                self._failed, hints = cell, [] if named else self._hints()
        return {"passed": not self._failed, "hints": hints, "begun": written}

    def train(self, game: str, answers: dict[str, str]) -> dict[str, Any]:
        """Let a reader's answers learn, and say each point of their curve.

        answers: by task. Returns "used", which of them the game has used; "error" instead, if they can't be run.
        """
        left_out = self._take(answers)
        for name, why in left_out.items():
            return {"error": f"This uses your {name}, which can't be run:\n{why}"}
        try:
            program = importlib.import_module(f"training.{game}")
            functions = {
                name: self.shell.user_ns[name] for name in answers if name in program.ANSWERS
            }
            given = vars(importlib.import_module("training.given"))
            others = {name: given[name] for name in program.ANSWERS if name in given}
            for point in program.train(others | functions):
                # JSON has no NaN
                _say(point=[one if np.isfinite(one) else None for one in point])
        except BaseException as error:
            if isinstance(error, NameError) and error.name in program.ANSWERS:
                return {"error": f"It uses your {error.name}: pass that task first."}
            return {"error": in_own_lines(error)}
        return {"used": sorted(functions)}

    def failing_case(self, ours: str) -> None:
        """Say small inputs on which the last answer is wrong, and what its lines and ours make of them.

        ours: the course's way to write it, or "". Where it uses other answers of the reader's, which may be wrong, it is
        left out.
        """
        with contextlib.redirect_stdout(io.StringIO()):
            self._failure(self._failed)
            case = self.shell.user_ns["failing_case"]()
        if case is None:
            print("There is no small case of this check.")
            return
        _say(case=[[name, _shown(value)] for name, value in vars(case).items()])
        if self._others & {
            node.id for node in ast.walk(ast.parse(ours)) if isinstance(node, ast.Name)
        }:
            ours = ""
        names, theirs = dict(self.shell.user_ns), dict(self.shell.user_ns)
        # "" in a book for a class, which leaves it out
        exec(compile(ours, remember(self._task, ours, OURS), "exec", dont_inherit=True), theirs)
        _say(
            steps=side_by_side(
                steps_of(case, names, f"{FOLDER}{self._task}.py"),
                steps_of(case, theirs, f"{OURS}{self._task}.py"),
            )
        )

    def _failure(self, cell: str) -> str | None:
        try:
            self.shell.run(cell)
        except Exception as error:
            if type(error).__name__ != "AutotestFailure":
                raise
            return str(error)
        return None

    def _hints(self) -> list[str]:
        hints: list[str] = []
        while True:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.shell.user_ns["hint"]()
            hint = said.getvalue().strip().replace(*OF_NOTEBOOKS)
            if hint in hints or not hint.startswith("Hint"):
                return hints
            hints.append(hint)


def show_map(words: Sequence[str], weights: np.ndarray) -> None:
    """Let the page draw attention weights: (n, n), a row for each word that looks.

    Raises ValueError when there isn't a row and a column for each word.
    """
    numbers = np.asarray(weights, dtype=float)
    size = (len(words), len(words))
    if numbers.shape != size:
        raise ValueError(
            f"a map of {len(words)} words needs weights of shape {size}, not {numbers.shape}"
        )
    # JSON has no NaN
    rows = [[float(entry) if np.isfinite(entry) else None for entry in row] for row in numbers]
    _say(map={"words": [str(word) for word in words], "weights": rows})


# by line and name, in their order, what the name is then, and its numbers
Steps = dict[tuple[str, str], tuple[str, list[float]]]


def steps_of(case: Any, names: dict[str, Any], filename: str) -> Steps:
    """What the lines of a file give to names while a case is computed, the first time. An error ends it."""
    found: Steps = {}
    # by frame, the line that is being computed, and the names before it
    held: dict[types.FrameType, tuple[str, dict[str, Any]]] = {}

    def trace(frame: types.FrameType, event: str, value: Any) -> Callable | None:
        if frame.f_code.co_filename != filename or frame.f_code.co_name.startswith("<"):
            return None
        line, before = held.get(frame, ("", dict(frame.f_locals)))
        new = {n: one for n, one in frame.f_locals.items() if before.get(n, held) is not one}
        if event == "return" and value is not None:
            new["return"] = value
        for name, one in new.items():
            found.setdefault((line, name), (_kind(one), _numbers(one)))
        held[frame] = linecache.getline(filename, frame.f_lineno).strip(), dict(frame.f_locals)
        return trace

    checks = sys.modules["attention_checks.evaluate"]
    inputs = copy.deepcopy({n: one for n, one in vars(case).items() if n not in names})
    namespace = {**names, **checks.helper_names(checks.Notes(0)), **inputs}
    functions, expression = checks.compiled_line(case.code)
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        exec(functions, namespace)
        sys.settrace(trace)
        try:
            eval(expression, namespace)
        finally:
            sys.settrace(None)
    return found


def side_by_side(yours: Steps, ours: Steps) -> list[list[str]]:
    """Rows of line, name, what it is, and what ours of that name is, or "". The second value of a name is beside the
    second of ours; nothing but names is compared.
    """
    others = by_name(ours)
    rows = []
    for (line, name), step in yours.items():
        beside = next(others.get(name, iter(())), None)
        rows.append([line, name, step[0], _beside(step, beside)])
    rows += [["", name, "", kind] for name, left in others.items() for kind, _ in left]
    return rows[:MAX_STEPS]


def by_name(steps: Steps) -> dict[str, Iterator[tuple[str, list[float]]]]:
    """What each name is, one value after another."""
    names = dict.fromkeys(name for _, name in steps)
    return {one: iter([step for (_, name), step in steps.items() if name == one]) for one in names}


def _beside(yours: tuple[str, list[float]], ours: tuple[str, list[float]] | None) -> str:
    if ours is None:
        return ""
    (kind, numbers), (our_kind, our_numbers) = yours, ours
    if kind != our_kind or not numbers:
        return our_kind
    same = np.allclose(numbers, our_numbers, rtol=1e-4, atol=1e-6, equal_nan=True)
    return f"{our_kind}, {'the same' if same else 'other'} numbers"


def _numbers(value: Any) -> list[float]:
    """All numbers of what has a shape, or of several such."""
    if isinstance(value, tuple | list):
        return [number for one in value for number in _numbers(one)]
    if not hasattr(value, "tolist"):
        return []
    return np.asarray(value.tolist(), dtype=float).ravel().tolist()


def _kind(value: Any) -> str:
    """A value as its shape, or as itself where it has none."""
    if isinstance(value, tuple | list):
        return ", ".join(map(_kind, value))[:MAX_TEXT]
    shape = getattr(value, "shape", None)
    if shape is not None:
        return str(tuple(shape))
    plain = value is None or isinstance(value, int | float | str)
    return repr(value)[:MAX_TEXT] if plain else type(value).__name__


def _shown(value: Any) -> str:
    """A value of a case in a few lines."""
    shape = getattr(value, "shape", None)
    if shape is not None and np.prod(shape) > MAX_ENTRIES:
        return f"{type(value).__name__.lower()} of shape {tuple(shape)}"
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ")
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} ..."


def in_own_lines(error: BaseException) -> str:
    """An exception in words, with the lines of the reader's own code that led to it."""
    places = [
        f"Line {frame.lineno}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(FOLDER)
    ]
    if isinstance(error, SyntaxError):
        places = [f"Line {error.lineno}: {(error.text or '').rstrip()}"]
        return "\n".join([*places, f"{type(error).__name__}: {error.msg}"])
    return "\n".join([*places, f"{type(error).__name__}: {error}"])


_exercises: dict[str, Exercise] = {}


def start(names: dict[str, list[str]]) -> None:
    """Once, before anything else. names: see `fit_numpy`."""
    fit_numpy(names)
    make_integers_int64()
    _install_ipython()
    sys.meta_path += [StandIn(), NoteMissingModules()]
    # nobody can be asked
    sys.stdin = io.StringIO()
    _say(done={})


@contextlib.contextmanager
def _messages() -> Iterator[None]:
    printed = Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        yield


def load(name: str, notebook: dict[str, Any], stand_in: dict[str, str]) -> None:
    """Take an exercise. notebook: the arguments of `Exercise`; stand_in: the modules of that for torch, if any."""
    StandIn.sources.update(stand_in)
    with _messages():
        _exercises[name] = Exercise(**notebook)
    _lacking.clear()
    _say(done={})


def check(name: str, task: str, answers: dict[str, str]) -> None:
    """Check a task of an exercise that is loaded."""
    with _messages():
        result = _exercises[name].check(task, answers)
    _say(done={**result, **_what_lacks()})


def run_cell(name: str, code: str, answers: dict[str, str]) -> None:
    """Run a cell of a page with answers to the tasks of an exercise that is loaded."""
    with _messages():
        result = _exercises[name].run_cell(code, answers)
    _say(done={**result, **_what_lacks()})


def train(name: str, game: str, sources: dict[str, str], answers: dict[str, str]) -> None:
    """Let answers to tasks of an exercise that is loaded learn a game. sources: the modules that it needs."""
    StandIn.sources.update(sources)
    with _messages():
        result = _exercises[name].train(game, answers)
    _say(done={**result, **_what_lacks()})


def ask(game: str, text: str) -> None:
    """Ask what has learned a game last, with what a reader types."""
    with _messages():
        try:
            answer = importlib.import_module(f"training.{game}").write(text)
        except ModuleNotFoundError:
            # Python has been stopped since
            answer = "This network is gone. Train it again."
        except BaseException as error:
            answer = in_own_lines(error)
    _say(done={"answer": answer, **_what_lacks()})


def failing_case(name: str, ours: str) -> None:
    """Say small inputs on which the answer that was checked last is wrong. ours: see `Exercise.failing_case`."""
    with _messages():
        _exercises[name].failing_case(ours)
    _say(done={})
