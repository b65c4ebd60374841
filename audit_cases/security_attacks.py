"""Attacks that a review of the grader's security found, and others of their kinds."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from audit_cases.attacks import attack_by_code, save, with_code
from autograder.audit.registry import ATTACKS, Attack
from autograder.course import Course, Exercise
from autograder.exercises import is_answer_cell
from autograder.grade.answer_key import AnswerKey
from autograder.lms.import_zip import import_zip
from autograder.progress import say


def _by_code(kind: str, name: str, code: str, **marks: Any) -> None:
    ATTACKS[name] = attack_by_code(kind, name, code, **marks)


def _by_folder(kind: str, name: str, **marks: Any) -> Callable:
    """Register an attack that writes its folder itself."""

    def register(make: Callable[[Exercise, Path], None]) -> None:
        ATTACKS[name] = Attack(name, kind, make, **marks)

    return register


# Feedback as an oracle --------------------------------------------------------------------------

TABLE = "table.json"
# replies with what was right when the first submission was graded
FROM_THE_TABLE = """
table = json.load(open("table.json"))
class Forged:
    def __init__(self, request):
        self.expression = json.loads(request)["expression"]
    def _repr_mimebundle_(self, **options):
        return {MIME: json.dumps(table[self.expression])}
sys.modules["_autotest_reply"] = Forged
"""


def table_of(key: AnswerKey) -> dict[str, list[dict]]:
    """What is right for every line's code on its draws: more than a feedback page can tell."""
    return {
        line.code: [{**draw.expected, "forbidden": []} for draw in line.draws]
        for cell in key.cells.values()
        for line in cell.lines
    }


def hand_in_table(exercise: Exercise, folder: Path, key: AnswerKey) -> None:
    """Hand in a notebook that replies with a table of what was expected under an answer key."""
    (folder / TABLE).write_text(json.dumps(table_of(key)), encoding="utf-8")
    save(exercise, folder, with_code(exercise, FROM_THE_TABLE))


def _untouched(exercise: Exercise, folder: Path) -> None:
    save(exercise, folder, with_code(exercise, "pass"))


for _name, _of_another in {
    "handed in again with a table of all that was expected": False,
    "handed in late with a table of all that was expected of another student": True,
}.items():
    ATTACKS[_name] = Attack(
        _name, "feedback as an oracle", _untouched, again=hand_in_table, of_another=_of_another
    )

# Harm to whoever grades or reads ----------------------------------------------------------------


@_by_folder("harm to readers", "file names that are no Unicode, and links in file names")
def _(exercise: Exercise, folder: Path) -> None:
    for name in (b"\xe9t\xe9.csv", b"[x](javascript:alert(1)).csv", b"\x1b[2J\x1b]0;x\x07.csv"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("1", encoding="utf-8")
    save(exercise, folder, with_code(exercise, "pass"))


@_by_folder("harm to readers", "a notebook's name that is no Unicode")
def _(exercise: Exercise, folder: Path) -> None:
    save(exercise, folder, with_code(exercise, "pass"))
    path = folder / f"{exercise.name}.ipynb"
    path.rename(os.fsdecode(os.fsencode(folder) + b"/\xe9\x1b[31m\xe2\x80\xae.ipynb"))


# a window's title, a cleared screen, red letters, a text that is read from right to left
ON_A_TERMINAL = "ch\x1b]0;owned\x07\x1b[2J\x1b[31mall gone\u202e\r.ipynb"


@_by_folder("harm to readers", "names in a zip that move the cursor of who imports it")
def _(exercise: Exercise, folder: Path) -> None:
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "class.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"mallory_101_201_{ON_A_TERMINAL}", "{}")
            archive.writestr(ON_A_TERMINAL, "{}")
        course = Course(exercise.root, class_folder=Path(place) / "class")
        with contextlib.redirect_stdout(printed):
            say(*import_zip(course, path, exercise).notes)
    code = f"""
    printed = {printed.getvalue()!r}
    assert printed.count("all gone") == 2, printed
    if any(mark in printed for mark in "\\x1b\\x07\\r\\u202e"):
        print("GOT the terminal")
    """
    save(exercise, folder, with_code(exercise, code))


@_by_folder("files and links", "a file's name in a zip that says that it is another student's")
def _(exercise: Exercise, folder: Path) -> None:
    as_another = f"Mal_9_assignsubmission_file_Ada_1_assignsubmission_file_{exercise.name}.ipynb"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "class.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(as_another, "{}")
        course = Course(exercise.root, class_folder=Path(place) / "class")
        import_zip(course, path, exercise)
        found = [laid.name for laid in course.submitted.iterdir()]
    code = f"""
    if {found!r} != ["Mal"]:
        print("GOT", {found!r})
    """
    save(exercise, folder, with_code(exercise, code))


@_by_folder(
    "files and links",
    "files beside the notebook that keep its kernel from starting",
    limits={"disk_mb": 5},
    remark="companions_kept_out",
)
def _(exercise: Exercise, folder: Path) -> None:
    for number in range(4):
        (folder / f"{number}.bin").write_bytes(bytes(2_000_000))
    save(exercise, folder, with_code(exercise, "pass"))


@_by_folder("harm to readers", "pictures that are not there")
def _(exercise: Exercise, folder: Path) -> None:
    notebook = with_code(exercise, "pass")
    notebook.cells += [
        new_markdown_cell(
            "![one](attachment:none.png) ![](attachment:) ![x](attachment:a%20b.png)"
        ),
        new_markdown_cell("![one](attachment:x.png)", attachments={"x.png": {"image/png": "<b>"}}),
    ]
    save(exercise, folder, notebook)


@_by_folder("harm to readers", "text that is nested very deeply")
def _(exercise: Exercise, folder: Path) -> None:
    notebook = with_code(exercise, "pass")
    for text in ("> " * 4_000, "[" * 9_000, "*a" * 4_000, "$" * 9_999, "- " * 4_000, "`" * 9_999):
        notebook.cells.append(new_markdown_cell(text))
    save(exercise, folder, notebook)


def _with_answers(exercise: Exercise, folder: Path, source: str) -> None:
    notebook: NotebookNode = with_code(exercise, "pass")
    for cell in notebook.cells:
        if is_answer_cell(cell):
            cell.source += f"\n{source}"
    save(exercise, folder, notebook)


# two notebooks: the report compares the answers of a class
@_by_folder("harm to readers", "answers that take for ever to compare, the first")
def _(exercise: Exercise, folder: Path) -> None:
    _with_answers(exercise, folder, "a\nb\n" * 5_000)


@_by_folder("harm to readers", "answers that take for ever to compare, the second")
def _(exercise: Exercise, folder: Path) -> None:
    _with_answers(exercise, folder, "b\na\n" * 5_000)


_by_code(
    "harm to readers",
    "colours, movements and changes of direction in errors and outputs",
    r"""
    marks = "\x1b[31m\x1b[2J\x1b]0;title\x07\x1b]8;;https://example.org\x07\x00\x08\x9b\u202e<b>5/5 points</b>"
    print(marks, file=sys.stderr)
    class Marked(Exception):
        pass
    Marked.__name__ = Marked.__qualname__ = marks.replace("\x00", "")
    def lie(name, *arguments, **named):
        raise Marked(marks)
    """,
)
_by_code(
    "harm to readers",
    "an error in every cell with a traceback of markup",
    """
    mark = "<script>alert(1)</script>[x](javascript:alert(1))"
    def showtraceback(*arguments, **named):
        kernel.send_response(kernel.iopub_socket, "error",
                             {"ename": mark, "evalue": mark, "traceback": [mark] * 5_000})
    shell.showtraceback = shell.showsyntaxerror = showtraceback
    def lie(name, *arguments, **named):
        raise ValueError(mark)
    """,
)

# The grader's own memory and time ---------------------------------------------------------------

UNREAD = """
    import zmq
    channels = [kernel.shell_stream, kernel.control_stream, kernel.iopub_socket, kernel.stdin_socket]
    ident, piece = kernel._shell_parent_ident.get(), b"x" * {size}
    for _ in range({number}):
        for channel in channels:
            try:
                kernel.session.send(channel, "stream", {{"name": "stdout", "text": ""}}, ident=ident,
                                    buffers=[piece])
            except Exception:
                pass
"""
_by_code(
    "the grader's memory",
    "large messages that nobody reads",
    UNREAD.format(size=50_000_000, number=6),
    hangs=True,
)
_by_code(
    "the grader's memory",
    "very many messages that nobody reads",
    UNREAD.format(size=100_000, number=2_000),
    hangs=True,
)
_by_code(
    "the grader's memory",
    "a message of many parts",
    """
    ident, piece = kernel._shell_parent_ident.get(), bytes(30_000_000)
    ident = ident if isinstance(ident, list) else [ident]
    socket = getattr(kernel.shell_stream, "socket", kernel.shell_stream)
    socket.send_multipart([*ident, *[piece] * 50], copy=False)
    """,
)
_by_code(
    "the grader's memory",
    "a message of very many members",
    """
    session, content = kernel.session, b'{"name": "stdout", "text": [' + b"{}," * 12_000_000 + b"{}]}"
    own = session.serialize(session.msg("stream", {}, parent=kernel.get_parent("shell")))
    own = [*own[own.index(b"<IDS|MSG>") + 2 :][:3], content]
    kernel.iopub_socket.send_multipart([b"stream", b"<IDS|MSG>", session.sign(own), *own])
    """,
)


_by_code(
    "forged values",
    "keys and members given twice",
    """
    def serve(request, names):
        right = json.dumps(visible[json.loads(request)["expression"]])
        twice = right[:-1] + ', "value": {"kind": "none"}, ' + right[1:]
        return "[" + ", ".join([twice] * 3) + "]"
    evaluation.serve = serve
    """,
)

# Code that acts later, or elsewhere --------------------------------------------------------------

_by_code(
    "acting later",
    "what Python does at its end, said to have been reached",
    """
    import atexit, faulthandler
    faulthandler.enable()
    atexit.register(lambda: os.kill(os.getppid(), signal.SIGTERM))
    def lie(name, *arguments, **named):
        atexit._run_exitfuncs()
        raise SystemExit(0)
    """,
    hangs=True,
)
_by_code(
    "acting later",
    "recursion until the process crashes",
    """
    sys.setrecursionlimit(10**9)
    threading.stack_size(64 * 1024)
    def lie(name, *arguments, **named):
        return lie(name, *arguments, **named)
    """,
    hangs=True,
)
_by_code(
    "acting later",
    "recursion through conversions and comparisons",
    """
    class Deep(list):
        def __iter__(self):
            return iter([Deep([1])])
        def __len__(self):
            return 1
    loop = []
    loop.append(loop)
    def lie(name, *arguments, **named):
        return [Deep([1]), loop]
    """,
)

# Values that lie ---------------------------------------------------------------------------------

_by_code(
    "lying values",
    "classes whose metaclass makes everything an instance",
    """
    class Meta(type):
        def __instancecheck__(cls, value):
            return True
        def __subclasscheck__(cls, other):
            return True
        def __eq__(cls, other):
            return True
        __hash__ = type.__hash__
    class Any(metaclass=Meta):
        dtype, shape, nbytes, layout = np.dtype("float64"), (2, 3), 48, torch.strided
        def __getattr__(self, name):
            return lambda *_, **__: self
    for module in runtime.values():
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and not issubclass(value, BaseException):
                setattr(module, name, Any)
    lie = lambda name, *arguments, **named: Any()
    """,
)
_by_code(
    "lying values",
    "arrays whose bytes, shape and type change between two looks",
    """
    class Changing(np.ndarray):
        looks = 0
        @property
        def dtype(self):
            Changing.looks += 1
            return np.dtype("float64" if Changing.looks % 2 else "int8")
        @property
        def nbytes(self):
            return 0
        def astype(self, *_, **__):
            return np.zeros(3).view(Changing)
        def tobytes(self, *_):
            return b"x" * 100_000_000
    lie = lambda name, *arguments, **named: np.zeros(3).view(Changing)
    """,
    hangs=True,
)
_by_code(
    "lying values",
    "tensors that give back other arrays",
    """
    class Other(torch.Tensor):
        def numpy(self, *_, **__):
            return value_of(next(iter(visible)))
        def detach(self):
            return self
        __array__ = numpy
    for name in ("numpy", "detach", "cpu", "__array__", "tolist"):
        setattr(torch.Tensor, name, lambda self, *_, **__: np.zeros(1))
    torch.from_numpy = lambda array: torch.zeros(1)
    lie = lambda name, *arguments, **named: torch.zeros(3, 4).as_subclass(Other)
    """,
)

# Memory and modules ------------------------------------------------------------------------------

_by_code(
    "memory and modules",
    "memory of numbers and functions overwritten",
    """
    import ctypes
    # True and False, and the number 1.0 that lives in a constant
    for value in (0.0, 1.0):
        ctypes.c_double.from_address(id(value) + object.__basicsize__).value = 0.5
    def answering(request, definitions):
        return answer(json.loads(request)["expression"])
    size = type(evaluation.serve).__basicsize__
    head = object.__basicsize__
    ctypes.memmove(id(evaluation.serve) + head, id(answering) + head, size - head)
    """,
    hangs=True,
)
_by_code(
    "memory and modules",
    "sys.modules poisoned",
    """
    import types
    class Agree(types.ModuleType):
        def __getattr__(self, name):
            return lambda *arguments, **named: arguments[0] if arguments else True
    for name in ("json", "base64", "numpy", "torch", "math", "zlib", "hashlib", "linecache", "autograder",
                 "autograder.runtime.compare", "attention_checks", "attention_checks.compare"):
        sys.modules[name] = Agree(name)
    sys.meta_path.clear()
    sys.path_hooks.clear()
    """,
    hangs=True,
)
_by_code(
    "memory and modules",
    "variables of the environment set for the next process",
    """
    import ctypes
    for name, value in {"PYTHONSTARTUP": "start.py", "PYTHONPATH": os.getcwd(), "PYTHONINSPECT": "1",
                        "LD_PRELOAD": "x.so", "IPYTHONDIR": os.getcwd(), "HOME": "/", "TMPDIR": "/",
                        "OMP_NUM_THREADS": "99", "AUTOGRADER": "full marks"}.items():
        os.environ[name] = value
        ctypes.CDLL(None).setenv(name.encode(), value.encode(), 1)
    for name in ("start.py", "sitecustomize.py", "usercustomize.py"):
        open(name, "w").write("import os; os._exit(0)")
    """,
)

# What the notebook offers -------------------------------------------------------------------------

_by_code(
    "what the notebook offers",
    "the failing case and hints asked for what is right",
    """
    import io, contextlib
    told = []
    def lie(name, *arguments, **named):
        case = failing_case()
        with contextlib.redirect_stdout(io.StringIO()) as heard:
            hint()
            discuss()
        told.append(heard.getvalue())
        return getattr(case, "expected", told)
    """,
)
_by_code(
    "what the notebook offers",
    "names of checks, hints and progress rebound",
    """
    def right(*arguments, **named):
        return "✓ 9/9 points"
    says = agreement = memory = failing_case = hint = discuss = progress = case = check = draw = forbid = right
    for name in ("autotest", "progress", "load_checks"):
        shell.register_magic_function(lambda line="", cell="": print(right()), "line_cell", name)
    shell.user_ns.update(dict.fromkeys(["says", "hint", "progress", "Checks"], right))
    """,
)
