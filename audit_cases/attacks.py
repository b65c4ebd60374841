"""Attacks on the grader: submissions that ask for points without an answer, or try to do harm.

Every attack starts from the untouched notebook and deserves nothing. `audit` grades them all: none may
earn a point, end the run, leave anything running or change another student's score.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import socket
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from audit_cases.sandbox_attacks import SANDBOX_ATTACKS
from autograder.audit.leftovers import LEFT_BEHIND
from autograder.audit.registry import (
    ATTACKS,
    DEED,
    HONEST_STUDENT,
    MACHINE,
    SETUP,
    Attack,
    names_torch,
)
from autograder.course import Exercise
from autograder.embedding import PACKAGE
from autograder.exercises import (
    answer_cell,
    baked_answers,
    grade_cells,
    is_grade_cell,
    metadata_of,
    reference_answers,
    released,
    solved,
)
from autograder.grade.result import Basis, CellResult, LineResult, Result
from autograder.instructor_settings import Limits
from autograder.kernels.student_kernel import REPLY_MIME
from autograder.package import PACKAGE_ROOT
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.plain_data import pack

FORBIDDING = "ch2_scaled_dot_product"

# Making submissions -----------------------------------------------------------------------------


def _attack(kind: str, name: str, **marks: Any) -> Callable:
    """Register an attack that writes its folder itself."""

    def register(make: Callable[[Exercise, Path], None]) -> Callable[[Exercise, Path], None]:
        ATTACKS[name] = Attack(name, kind, make, **marks)
        return make

    return register


def _by_notebook(kind: str, name: str) -> Callable:
    """Register an attack that changes the untouched notebook."""

    def register(change: Callable[[NotebookNode], None]) -> Callable[[NotebookNode], None]:
        def make(exercise: Exercise, folder: Path) -> None:
            notebook = solved(exercise, {}, written="")
            change(notebook)
            save(exercise, folder, notebook)

        _attack(kind, name)(make)
        return change

    return register


def attack_by_code(kind: str, name: str, code: str, **marks: Any) -> Attack:
    """An attack by code in a cell of the student's own; see `with_code`."""

    def make(exercise: Exercise, folder: Path) -> None:
        save(exercise, folder, with_code(exercise, code))

    return Attack(name, kind, make, of_torch=names_torch(code), **marks)


def _by_code(kind: str, name: str, code: str, **marks: Any) -> None:
    """Register an attack by code."""
    ATTACKS[name] = attack_by_code(kind, name, code, **marks)


def save(exercise: Exercise, folder: Path, notebook: Any) -> None:
    """Hand in a notebook, whatever it is."""
    (folder / f"{exercise.name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def _grade_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if is_grade_cell(cell)]


def visible_answers(exercise: Exercise) -> dict[str, dict]:
    """The right values that a student's own notebook holds, for its one draw: a line's code -> answer."""
    notebook = released(exercise)
    answers = baked_answers(notebook)
    return {
        check.code: answers[name][check.expression]
        for name, source in grade_cells(notebook).items()
        for check in parse_cell(source).checks
    }


@functools.cache
def _packed_answers(exercise: Exercise) -> str:
    """`visible_answers` as text for a cell: the same for every attack."""
    return pack(visible_answers(exercise))


# What every attack by code may use. The modules of the runtime as this kernel has them, by name, and
# each of its names in all of them at once (`patch`): modules import names from one another. `visible`,
# the answers in the student's own notebook; `answer(expression)`, the reply they suggest;
# `asked(text)`, the grader's question; `answers(expressions)`, a shell's reply to those of one message.
TOOLS = """
import ast, base64, builtins, gc, glob, json, os, signal, subprocess, sys, threading, time
import numpy as np{torch}
exercise, MIME = {exercise!r}, {mime!r}
shell, reply = get_ipython(), sys.modules["_autotest_reply"]
kernel = shell.kernel
package = "autograder.runtime" if "autograder.runtime.evaluate" in sys.modules else {package!r}
runtime = {{name.rpartition(".")[2]: module for name, module in sys.modules.items()
           if name.startswith(package + ".")}}
evaluation, helpers = runtime["evaluate"], runtime["helpers"]
plain_data, torch_internals = runtime["plain_data"], runtime["torch_internals"]
def patch(name, value):
    patched = [module for module in runtime.values() if hasattr(module, name)]
    for module in patched:
        setattr(module, name, value)
    assert patched, name
visible = plain_data.unpack(seen)
def answer(expression):
    return json.dumps([{{**visible[expression], "forbidden": []}}] * 3)
def asked(text):
    return json.loads(ast.literal_eval(text[text.index("](") + 2:-1]))
def answers(expressions):
    return {{name: {{"status": "ok", "data": {{MIME: answer(asked(text)["expression"])}}, "metadata": {{}}}}
            for name, text in (expressions or {{}}).items()}}
def value_of(expression):
    return plain_data.restore(plain_data.decode(visible[expression]["value"]))
class Forged:
    def __init__(self, request):
        self.expression = json.loads(request)["expression"]
    def _repr_mimebundle_(self, **options):
        return {{MIME: answer(self.expression)}}
def lie(name, *arguments, **named):
    return None
print("armed")
"""
LYING_FUNCTION = "def {name}(*arguments, **named):\n    return lie({name!r}, *arguments, **named)"
LYING_CLASS = """class {name}{base}:
    def __init__(self, *arguments, **named):
        super().__init__()
    def forward(self, *arguments, **named):
        return lie({name!r}, *arguments, **named)"""


def with_code(exercise: Exercise, code: str) -> NotebookNode:
    """A notebook in which every answer returns lie(its name, its arguments), after TOOLS and code."""
    base, torch = ("(torch.nn.Module)", ", torch") if exercise.uses_torch else ("", "")
    answers = {}
    for name, text in reference_answers(exercise).items():
        is_class = isinstance(ast.parse(text).body[0], ast.ClassDef)
        lying = LYING_CLASS if is_class else LYING_FUNCTION
        answers[name] = lying.format(name=name, base=base)
    notebook = solved(exercise, answers, written="")
    tools = TOOLS.format(exercise=exercise.name, mime=REPLY_MIME, package=PACKAGE, torch=torch)
    seen = _packed_answers(exercise)
    # in pieces: a cell has a largest length
    pieces = [seen[i : i + 80_000] for i in range(0, len(seen), 80_000)]
    first = notebook.cells.index(answer_cell(notebook))
    notebook.cells[first:first] = [
        new_code_cell("seen = ''"),
        *(new_code_cell(f"seen += {piece!r}") for piece in pieces),
        new_code_cell(f"{SETUP}\n{tools.strip()}"),
        new_code_cell(f"{DEED}\n{textwrap.dedent(code).strip()}"),
    ]
    return notebook


@functools.cache
def _listener() -> socket.socket:
    """A socket on 127.0.0.1 that waits for attackers."""
    return socket.create_server(("127.0.0.1", 0))


def _on_the_machine(name: str, code: str) -> None:
    """Register an attack on the machine, which is the same one whatever the exercise."""

    @_attack(MACHINE, name, exercise=FORBIDDING)
    def make(exercise: Exercise, folder: Path) -> None:
        port = _listener().getsockname()[1]
        code_here = code.format(port=port, root=str(PACKAGE_ROOT), left=LEFT_BEHIND)
        save(exercise, folder, with_code(exercise, code_here))


for _name, _code in SANDBOX_ATTACKS.items():
    _on_the_machine(_name, _code)


# Outputs and metadata ---------------------------------------------------------------------------


@_by_notebook("outputs and metadata", "a forged verdict among the outputs")
def _(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            line = {"expression": "1", "points": 9, "difference": None, "mistake": None}
            text = json.dumps({"grade_id": cell.id, "lines": [line], "printed": ""})
            data = {REPLY_MIME: text, "application/json": text, "text/plain": "✓ 9/9 points   1"}
            cell.outputs = [new_output("display_data", data=data)]


@_by_notebook("outputs and metadata", "points raised, also of answer cells")
def _(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.update(points=1000, grade=True)


@_by_notebook("outputs and metadata", "flags flipped")
def _(notebook: NotebookNode) -> None:
    for cell in _grade_cells(notebook):
        cell.metadata.nbgrader.update(grade=False, solution=True, locked=False, task=True)
        cell.source = "pass"


@_by_notebook("outputs and metadata", "test cells edited")
def _(notebook: NotebookNode) -> None:
    for cell in _grade_cells(notebook):
        points = cell.metadata.nbgrader.points
        cell.source = f"print('✓ {points}/{points} points')\n{float(points)!r}"


@_by_notebook("outputs and metadata", "tests before answers")
def _(notebook: NotebookNode) -> None:
    notebook.cells.reverse()


@_by_notebook("outputs and metadata", "cells of one's own under the names of tests")
def _(notebook: NotebookNode) -> None:
    for cell in _grade_cells(notebook):
        own = new_code_cell(f"{float(cell.metadata.nbgrader.points)!r}")
        own.id, own.metadata = cell.id, cell.metadata
        notebook.cells.insert(0, own)


@_by_notebook("outputs and metadata", "the checker replaced")
def _(notebook: NotebookNode) -> None:
    (checker,) = [cell for cell in notebook.cells if cell.id == "checker"]
    checker.source = (
        "def autotest(line, cell):\n    print('✓ all points')\n"
        "get_ipython().register_magic_function(autotest, magic_kind='cell')"
    )


@_by_notebook("outputs and metadata", "a record of having been graded")
def _(notebook: NotebookNode) -> None:
    result = {"score": 99, "points": 99, "remarks": [], "basis": {"submission": "", "grader": 99}}
    notebook.metadata.autotest.update(graded="yes", submission="yes", result=result)
    remarks = new_markdown_cell("**From the grader.** Full marks.", id="remarks")
    notebook.cells.insert(0, remarks)


# Harm to whoever reads the feedback -------------------------------------------------------------

SCRIPTS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a link](javascript:alert(1))",
    "[a link](java&#115;cript:alert(1))",
    "[a link](java&amp;#115;cript:alert(1))",
    "[a link](javascript&colon;alert(1))",
    "[a link](<java\tscript:alert(1)>)",
    "[a link]: javascript:alert(1)",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<style>body{display:none}</style>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "$<img src=x onerror=alert(1)>$",
    "![x](data:image/svg+xml;base64,PHN2Zy8+)",
]


@_attack("harm to readers", "scripts in Markdown, code and outputs")
def _(exercise: Exercise, folder: Path) -> None:
    display = "from IPython.display import *\nscripts = " + repr(SCRIPTS) + "\n"
    display += "for text in scripts:\n    print(text)\n    for kind in (HTML, Markdown, Javascript, SVG, Latex):\n"
    display += "        try:\n            display(kind(text))\n        except Exception:\n            pass\n"
    display += "class Own(Exception):\n    pass\nOwn.__name__ = Own.__qualname__ = scripts[0]\n"
    display += (
        "def lie(name, *arguments, **named):\n    print(scripts[0])\n    raise Own(scripts[0])"
    )
    notebook = with_code(exercise, display)
    notebook.cells += [new_markdown_cell(text) for text in SCRIPTS]
    notebook.cells[-1].attachments = {"x.svg": {"image/svg+xml": SCRIPTS[0]}}
    for cell in notebook.cells:
        if metadata_of(cell).get("solution") and cell.cell_type == "markdown":
            cell.source = "\n\n".join(SCRIPTS)
    save(exercise, folder, notebook)


@_attack("harm to readers", "a file name with a script in it")
def _(exercise: Exercise, folder: Path) -> None:
    (folder / "<img src=x onerror=alert(1)>.ipynb").write_text("{}", encoding="utf-8")


_by_code(
    "harm to readers",
    "a hundred pictures in every cell",
    """
    from IPython.display import publish_display_data
    for _ in range(100):
        publish_display_data({"image/png": base64.b64encode(os.urandom(1_400_000)).decode()})
    """,
)


_OPENED = "".join(f"<b a={number}>" for number in range(400))
_REPEATED = f"<p>{_OPENED}{'<p>x' * 1_000}"

_by_code(
    "harm to readers",
    "formatting that is opened again in every paragraph",
    f"""
    from IPython.display import publish_display_data
    for _ in range(8):
        publish_display_data({{"text/html": {_REPEATED!r}}})
    """,
)


@_attack("harm to readers", "Markdown whose formatting is opened again in every paragraph")
def _(exercise: Exercise, folder: Path) -> None:
    notebook = with_code(exercise, "pass")
    notebook.cells += [new_markdown_cell(_REPEATED) for _ in range(12)]
    save(exercise, folder, notebook)


_BLACK_PNG = r"""
    import struct, zlib
    from IPython.display import publish_display_data
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    def black_png(size):
        rows = chunk(b"IDAT", zlib.compress(bytes((1 + size // 8) * size), 9)) + chunk(b"IEND", b"")
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 1, 0, 0, 0, 0))
        return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + rows).decode()
"""


_by_code(
    "harm to readers",
    "small files of pictures with very many pixels",
    _BLACK_PNG
    + r"""
    picture = black_png(14_000)
    for _ in range(20):
        publish_display_data({"image/png": picture})
    """,
)


_by_code(
    "harm to readers",
    "pictures of very many pixels in HTML, and files that aren't what they are said to be",
    _BLACK_PNG
    + r"""
    large = black_png(10_000)
    gif = base64.b64encode(b"GIF89a" + struct.pack("<HH", 60_000, 60_000) + bytes(50)).decode()
    for data in (large, "%69" + large[1:], gif):
        publish_display_data({"text/html": f"<img src='data:image/png;base64,{data}'>"})
        publish_display_data({"image/png": data, "image/jpeg": data})
    """,
)


@_attack("harm to readers", "lines that take for ever to colour")
def _(exercise: Exercise, folder: Path) -> None:
    notebook = with_code(exercise, "pass")
    notebook.cells.append(new_code_cell("if False:\n        " + "a." * 150_000 + "a"))
    save(exercise, folder, notebook)


# Hooks and a patched kernel ---------------------------------------------------------------------

_by_code(
    "hooks",
    "do_execute patched",
    """
    async def do_execute(code, *arguments, user_expressions=None, **named):
        found = answers(user_expressions)
        return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": found}
    kernel.do_execute = do_execute
    """,
)
_by_code(
    "hooks",
    "a syntax tree transformer",
    """
    class Agree(ast.NodeTransformer):
        def visit_Compare(self, node):
            return ast.copy_location(ast.Constant(True), node)
        def visit_Call(self, node):
            return ast.copy_location(ast.Constant(1.0), node)
    shell.ast_transformers.append(Agree())
    """,
)
_by_code(
    "hooks",
    "a display formatter that answers",
    """
    last = []
    plain = evaluation.serve
    def note(request, names):
        last.append(json.loads(request)["expression"])
        return plain(request, names)
    evaluation.serve = note
    shell.display_formatter.format = lambda value, *_, **__: ({MIME: answer(last[-1])}, {})
    """,
)
_by_code(
    "hooks",
    "a verdict at exit",
    """
    import atexit
    def leave(*_):
        print("✓ 9/9 points", flush=True)
        kernel.session.send(kernel.iopub_socket, "execute_result", {"data": {"text/plain": "9.0"}})
        time.sleep(60)
    atexit.register(leave)
    signal.signal(signal.SIGTERM, leave)
    """,
)

# Protocol spoofing ------------------------------------------------------------------------------

SEND = """
    header, to = kernel.get_parent("shell")["header"], kernel._shell_parent_ident.get()
    head, number = header["msg_id"].rsplit("_", 1)
    def send(channel, kind, content, ahead):
        parent = {**header, "msg_id": f"{head}_{int(number) + ahead}"}
        ident = to if channel is kernel.shell_stream else None
        kernel.session.send(channel, kind, content, parent=parent, ident=ident)
"""
_by_code(
    "protocol spoofing",
    "replies to questions not yet asked",
    SEND
    + """
    lines = list(visible)
    for ahead in range(1, 60):
        found = {str(n): {"status": "ok", "data": {MIME: answer(lines[(ahead + n) % len(lines)])}, "metadata": {}}
                 for n in range(20)}
        content = {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": found}
        send(kernel.shell_stream, "execute_reply", content, ahead)
        send(kernel.iopub_socket, "status", {"execution_state": "idle"}, ahead)
    """,
)
_by_code(
    "protocol spoofing",
    "nonsense on every channel",
    SEND
    + """
    for number in range(3000):
        kernel.iopub_socket.send_multipart([b"nonsense"] * (number % 9))
        kernel.session.send(kernel.iopub_socket, "stream", b"[7]", parent=header)
        kernel.session.send(kernel.iopub_socket, "error", {"traceback": 7}, parent=header)
        send(kernel.shell_stream, "execute_reply", b'["ok"]', number % 20)
    """,
    hangs=True,
)
_by_code(
    "protocol spoofing",
    "chatter without end",
    """
    def chatter():
        while True:
            content = {"name": "stdout", "text": "✓ 9/9 points\\n"}
            kernel.session.send(kernel.iopub_socket, "stream", content, parent=kernel.get_parent("shell"))
            time.sleep(0.0005)
    threading.Thread(target=chatter, daemon=True).start()
    """,
    hangs=True,
)
_by_code(
    "protocol spoofing",
    "never idle",
    """
    plain = kernel.session.send
    def send(stream, kind, content=None, *arguments, **named):
        if kind == "status":
            return {}
        return plain(stream, kind, content, *arguments, **named)
    kernel.session.send = send
    """,
    hangs=True,
)
_by_code(
    "protocol spoofing",
    "inputs of the other questions in a message returned",
    """
    tried = iter(())
    def lie(name, *arguments, **named):
        global tried
        own = [np.asarray(a).tolist() for a in arguments if hasattr(a, "shape")]
        for array in tried:
            if array.tolist() not in own:
                return array
        questions = [asked(text) for text in kernel.get_parent("shell")["content"]["user_expressions"].values()]
        trees = [tree for one in questions for draw in one["draws"] for tree in draw["inputs"].values()]
        found = [plain_data.restore(plain_data.decode(tree)) for tree in trees]
        tried = (one for one in found if hasattr(one, "shape"))
        return next(tried, None)
    """,
)
_by_code(
    "protocol spoofing",
    "the later questions in a message changed by the first",
    """
    def lie(name, *arguments, **named):
        questions = kernel.get_parent("shell")["content"]["user_expressions"]
        for number in questions:
            questions[number] = "type('Right', (), {'_repr_mimebundle_': lambda self, **_: " + repr(
                {MIME: answer(asked(questions[number])["expression"])}) + "})()"
    """,
)
_by_code(
    "protocol spoofing",
    "a reply of 150 MB",
    """
    def forged(self, expressions):
        text = "[" * 150_000_000 if expressions else ""
        return {name: {"status": "ok", "data": {MIME: text}, "metadata": {}} for name in expressions or ()}
    type(shell).user_expressions = forged
    """,
    hangs=True,
)

# Patched libraries ------------------------------------------------------------------------------

_by_code(
    "patched libraries",
    "eval and compile patched",
    """
    plain_eval, plain_compile, last = builtins.eval, builtins.compile, []
    def forged_compile(source, file, *arguments, **named):
        if file == "<autotest>":
            last.append(source)
        return plain_compile(source, file, *arguments, **named)
    def forged_eval(code, *names):
        if getattr(code, "co_filename", "") == "<autotest>":
            return value_of(last[-1])
        return plain_eval(code, *names)
    builtins.compile, builtins.eval = forged_compile, forged_eval
    """,
)
_by_code(
    "patched libraries",
    "numpy and torch that agree",
    """
    def agree(*_, **__):
        return True
    np.allclose = np.isclose = np.array_equal = np.testing.assert_allclose = agree
    torch.equal = torch.allclose = torch.isclose = torch.testing.assert_close = agree
    torch.Tensor.__eq__ = torch.Tensor.__le__ = agree
    np.abs = np.absolute = lambda value, **_: np.zeros_like(value)
    torch.autograd.grad = lambda total, targets, **_: [torch.zeros_like(t) for t in targets]
    """,
)
_by_code(
    "patched libraries",
    "a tensor that equals everything",
    """
    class Same(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), named=None):
            return True
    def lie(name, *arguments, **named):
        return torch.zeros(3, 4).as_subclass(Same)
    """,
)
_by_code(
    "patched libraries",
    "a float that equals everything, in the class of an array",
    """
    class Same(float):
        __class__ = property(lambda self: np.ndarray)
        __hash__ = float.__hash__
        dtype, shape, nbytes = np.dtype(float), (), 8
        def __eq__(self, other):
            return True
        __le__ = __ge__ = __lt__ = __gt__ = __eq__
        def __getattr__(self, name):
            return self
        def __call__(self, *_, **__):
            return self
    def lie(name, *arguments, **named):
        return Same()
    """,
)

# The tests' own names ---------------------------------------------------------------------------

_by_code(
    "tests' own names",
    "helpers redefined",
    """
    draw = check = forbid = fill = judge = difference = HELPERS = lambda *_, **__: True
    gradients = inputs_after = parameter_shapes = dtype_of = raised = lambda *_, **__: 1.0
    """,
)
_by_code(
    "tests' own names",
    "the function that replies replaced",
    'sys.modules["_autotest_reply"] = Forged',
)

# The runtime's caches, classes and functions ----------------------------------------------------

_by_code(
    "runtime",
    "compiled expressions poisoned in their cache",
    """
    builtins.value_of = value_of
    def poison(plain):
        try:
            for line in visible:
                forged = f"value_of({line!r})"
                builtins.compile = lambda tree, *rest, **named: plain(forged, *rest, **named)
                evaluation.compiled_line(line)
        finally:
            builtins.compile = plain
    poison(builtins.compile)
    assert evaluation.compiled_line(next(iter(visible)))[1].co_names == ("value_of",)
    """,
)
_by_code(
    "runtime",
    "functions of the checks defined before they are",
    """
    for line in visible:
        functions, _, call = line.rpartition("\\n\\n\\n")
        if functions:
            forged = lambda *_, line=line: value_of(line)
            vars(builtins)[call.partition("(")[0]] = globals()[call.partition("(")[0]] = forged
    """,
)
_by_code(
    "runtime",
    "drawn parameters changed in their cache",
    """
    plain = helpers._parameter
    def parameter(seed, name, shape):
        values = plain(seed, name, shape)
        values[...] = 0
        return values
    helpers._parameter = parameter
    parameter(1, "weight", (2, 3))
    assert not plain(1, "weight", (2, 3)).any()
    """,
)
_by_code(
    "runtime",
    "the classes of plain data replaced",
    """
    for name in ("Nothing", "Number", "Text", "Array", "Items", "Dictionary", "Error", "Unsupported"):
        same = {"__eq__": lambda self, other: True, "__hash__": object.__hash__}
        patch(name, type(name, (getattr(plain_data, name),), same))
    patch("valid_text", lambda text, limit=0: str(text))
    plain_data.MAX_BYTES = plain_data.MAX_ITEMS = plain_data.MAX_DEPTH = evaluation.MAX_TEXT = 10**9
    """,
)
_by_code(
    "runtime",
    "drawn inputs replaced by zeros",
    """
    plain = plain_data.restore
    def restore(value):
        found = plain(value)
        return found * 0 if isinstance(found, (np.ndarray, torch.Tensor)) else found
    patch("restore", restore)
    lie = lambda name, *arguments, **named: arguments[0] if arguments else None
    """,
)
_by_code(
    "runtime",
    "seeds and settings patched",
    """
    import contextlib
    patch("seed_default_generator", lambda seed: torch.default_generator.manual_seed(0))
    patch("usual_settings", lambda: contextlib.nullcontext())
    patch("forbidding", lambda names, noted: contextlib.nullcontext())
    np.random.seed = lambda seed: None
    """,
)

# Answers from elsewhere -------------------------------------------------------------------------

_by_code(
    "answers from elsewhere",
    "modules imported by name",
    """
    found = {}
    for name in (f"solutions.{exercise}", exercise, "solutions", "figures",
                 "autograder.reference", "autograder.exercises", "autograder.grade.answer_key"):
        try:
            found.update(vars(__import__(name, fromlist=["*"])))
        except ImportError:
            pass
    plain = evaluation.serve
    evaluation.serve = lambda request, names: plain(request, {**names, **found})
    """,
)
_by_code(
    "answers from elsewhere",
    "the expected values read from disk",
    """
    expected = {}
    roots = ["/proc/*/cwd/course", *("/tmp" + "/*" * depth for depth in range(1, 7))]
    roots = [root for pattern in roots for root in glob.glob(pattern)]
    for path in [p for root in roots for p in glob.glob(f"{root}/expected/{exercise}.json")]:
        try:
            for cell in json.load(open(path))["cells"].values():
                for line in cell["lines"]:
                    for draw in line["draws"]:
                        code = runtime["functions"].code(line["expression"], line["functions"])
                        expected[code, draw["parameter_seed"]] = draw["expected"]
        except (OSError, ValueError, KeyError):
            pass
    def serve(request, names):
        job = json.loads(request)
        found = [expected[job["expression"], draw["parameter_seed"]] for draw in job["draws"]]
        return json.dumps([{**one, "forbidden": []} for one in found])
    if expected:
        evaluation.serve = serve
    """,
    without_sandbox="all points: the answer key lies in the class's folder",
)
_by_code(
    "answers from elsewhere",
    "the memory of the process it was forked from",
    """
    import re
    found = {}
    try:
        maps = open(f"/proc/{os.getppid()}/maps").readlines()
    except OSError:
        maps = []
    for line in maps:
        if " rw-p " in line:
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            try:
                with open(f"/proc/{os.getppid()}/mem", "rb", 0) as memory:
                    memory.seek(start)
                    data = memory.read(min(end - start, 400_000_000))
            except (OSError, ValueError, OverflowError):
                continue
            for name in {line.split("(")[0] for line in visible}:
                match = re.search(rb"\\n(def|class) " + name.encode() + rb"\\(.*?\\n(?=\\S)", data, re.S)
                if match and b"NotImplementedError" not in match[0]:
                    try:
                        exec(match[0].decode(), found)
                    except Exception:
                        pass
    plain = evaluation.serve
    evaluation.serve = lambda request, names: plain(request, {**names, **found})
    """,
)
_by_code(
    "answers from elsewhere",
    "history searched",
    """
    def lie(name, *arguments, **named):
        manager = shell.history_manager
        for source in [*manager.input_hist_raw, *map(repr, manager.output_hist.values())]:
            if "expected" in source and name in source:
                names = {}
                exec(source, names)
                return names[name](*arguments, **named)
        return list(manager.get_range(raw=True))
    """,
)
_by_code(
    "answers from elsewhere",
    "every living object searched",
    """
    seen = {}
    def lie(name, *arguments, **named):
        if name not in seen:
            objects = gc.get_objects()
            kinds = ("ExpectedDraw", "ExpectedCell", "Expected", "AnswerKey")
            objects += [vars(v) for v in objects if type(v).__name__ in kinds]
            values = [v for v in objects if type(v) is dict and "expected" in v and "forbidden" not in v]
            functions = [v for v in objects if type(v) is type(lie) and v.__name__ == name]
            seen[name] = values, [f for f in functions if "lie" not in f.__code__.co_names]
        values, functions = seen[name]
        return functions[-1](*arguments, **named) if functions else values[-1]["expected"]
    """,
)
_by_code(
    "answers from elsewhere",
    "values returned when the visible draw comes",
    """
    def lie(name, *arguments, **named):
        for line in visible:
            value = value_of(line)
            if line.startswith(name + "(") and np.shape(value)[:1] == np.shape(arguments[0])[:1]:
                return value
        return value_of(line)
    """,
)

# Answers that do nothing ------------------------------------------------------------------------

_by_code(
    "idle answers",
    "the first argument returned",
    "lie = lambda name, *arguments, **named: arguments[0]",
)
_by_code(
    "idle answers",
    "two arguments returned",
    "lie = lambda name, *arguments, **named: arguments[:2]",
)
_by_code("idle answers", "nothing returned", "lie = lambda name, *arguments, **named: None")
_by_code("idle answers", "a claim to have passed", "lie = lambda name, *arguments, **named: True")

# Forged values ----------------------------------------------------------------------------------


def _forged(name: str, forge: str, prepare: str = "pass") -> None:
    code = f"{prepare}\nevaluation.serve = lambda request, names: {forge}"
    _by_code("forged values", name, code)


def _forged_value(name: str, value: str) -> None:
    _forged(name, f'json.dumps([{{"value": {value}, "parameters": [], "forbidden": []}}] * 3)')


ARRAY = '{{"kind": "array", "dtype": {dtype}, "shape": {shape}, "data": {data}}}'
_forged("a value nested too deeply for JSON", "'[' * 200_000")
_forged_value("not a number", '{"kind": "number", "value": float("nan")}')
_forged_value(
    "a lying shape", ARRAY.format(dtype='"float64"', shape="[2**40, 2**40]", data='"AAAA"')
)
_forged_value("an array of objects", ARRAY.format(dtype='"object"', shape="[1]", data='"gASVAA=="'))
_forged_value(
    "data of 30 MB", ARRAY.format(dtype='"int8"', shape="[5_000_000]", data='"AAAA" * 1_666_667')
)
_forged_value("fields of wrong types", '{"kind": ["array"], "dtype": [], "shape": {}, "data": 7}')
_forged_value(
    "numbers that overflow",
    ARRAY.format(dtype='"float64"', shape="[50]", data="[1.7e308, -1.7e308] * 25"),
)
_forged_value(
    "an error of control characters and half surrogates",
    r'{"kind": "error", "name": "\ud800\x00\x1b[31m", "message": "\udfff<\x08", "at": "\r\n\ud83d"}',
)
_forged("results that are no results", "json.dumps([None, 7, 'passed'])")
_forged("too many results", "answer(json.loads(request)['expression'])[:-1] + ', {}, {}]'")


@_attack("forged values", "right to one per cent, in half precision")
def _(exercise: Exercise, folder: Path) -> None:
    code = """
    plain = evaluation.serve
    def spoil(tree):
        if tree["kind"] in ("array", "tensor"):
            data = plain_data.decode(tree).values.astype(np.float16) * np.float16(1.01)
            return {**plain_data.encode(data), "kind": tree["kind"]}
        if tree["kind"] == "list":
            return {**tree, "items": [spoil(item) for item in tree["items"]]}
        if tree["kind"] == "dict":
            return {**tree, "items": {key: spoil(item) for key, item in tree["items"].items()}}
        return {"kind": "none"}
    def serve(request, names):
        results = json.loads(plain(request, names))
        return json.dumps([{**result, "value": spoil(result["value"])} for result in results])
    evaluation.serve = serve
    """
    notebook = with_code(exercise, code)
    answers = iter(solved(exercise, reference_answers(exercise)).cells)
    right = {cell.id: cell.source for cell in answers}
    for cell in notebook.cells:
        if metadata_of(cell).get("solution"):
            cell.source = right[cell.id]
    save(exercise, folder, notebook)


# Threads that act later -------------------------------------------------------------------------

_by_code(
    "threads",
    "a verdict printed again and again",
    """
    def later():
        while True:
            print("✓ 9/9 points")
            display({"text/plain": "9.0", MIME: answer(next(iter(visible)))}, raw=True)
            time.sleep(0.02)
    threading.Thread(target=later, daemon=True).start()
    """,
)
_by_code(
    "threads",
    "checks replaced later",
    """
    def later():
        while True:
            time.sleep(0.005)
            evaluation.serve = lambda request, names: answer(json.loads(request)["expression"])
    threading.Thread(target=later).start()
    """,
)

# Ending, hanging, exhausting --------------------------------------------------------------------

# what Python offers for ending its process ends a cell only, so these ask C
_by_code(
    "ending and hanging",
    "the process ended",
    "import ctypes\nctypes.CDLL(None)._exit(0)",
    hangs=True,
)
_by_code(
    "ending and hanging",
    "the process ended by an answer",
    """
    def lie(name, *arguments, **named):
        # the first process of a sandbox can't send itself a signal that it does not handle
        os.kill(os.getpid(), signal.SIGKILL)
        os._exit(9)
    """,
    hangs=True,
)
_by_code("ending and hanging", "a crash", "import ctypes\nctypes.string_at(0)", hangs=True)
_by_code(
    "ending and hanging",
    "another program in its place",
    "os.execv('/bin/sleep', ['sleep', '3600'])",
    hangs=True,
)
_by_code(
    "ending and hanging",
    "an endless loop",
    """
    def lie(name, *arguments, **named):
        while True:
            pass
    """,
    hangs=True,
)
_by_code(
    "ending and hanging",
    "an endless loop that ignores interrupts",
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            time.sleep(1)
        except BaseException:
            pass
    """,
    hangs=True,
)
_by_code(
    "ending and hanging",
    "the process stopped",
    "import ctypes\nctypes.CDLL(None).kill(os.getpid(), signal.SIGSTOP)",
    hangs=True,
)
_by_code(
    "ending and hanging",
    "the process it was forked from killed",
    """
    try:
        os.kill(os.getppid(), signal.SIGKILL)
    except PermissionError:
        print("refused")
    """,
    hangs=True,
)
_by_code(
    "ending and hanging",
    "processes left behind",
    """
    import ctypes
    end = ctypes.CDLL(None)._exit
    command = [sys.executable, "-c", "import time; time.sleep(3600)"]
    for _ in range(5):
        subprocess.Popen(command, start_new_session=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(3600)
            end(0)
    end(0)
    """,
    hangs=True,
)
_by_code(
    "ending and hanging", "every file closed", "os.closerange(3, 4096)\nos.chdir('/')", hangs=True
)
_by_code(
    "ending and hanging",
    "its folder removed",
    "import shutil\nshutil.rmtree(os.path.dirname(os.getcwd()), ignore_errors=True)",
    hangs=True,
)
_by_code(
    "ending and hanging",
    "100 MB printed",
    """
    for _ in range(100):
        print("x" * 1_000_000)
    def lie(name, *arguments, **named):
        print("✓ 9/9 points " * 1_000_000)
        sys.stderr.write("✓" * 1_000_000)
    """,
    hangs=True,
)


@_attack("ending and hanging", "hundreds of cells that each hang", hangs=True)
def _(exercise: Exercise, folder: Path) -> None:
    notebook = with_code(exercise, "pass")
    hang = "while True:\n    pass"
    notebook.cells += [new_code_cell(hang) for _ in range(300)]
    first = notebook.cells.index(answer_cell(notebook))
    notebook.cells[first:first] = [new_code_cell(hang) for _ in range(300)]
    save(exercise, folder, notebook)


# Files and links --------------------------------------------------------------------------------


def _of_the_honest(folder: Path) -> Path:
    return folder.parent.parent / HONEST_STUDENT / folder.name


@_attack("files and links", "the notebook is a link to another student's")
def _(exercise: Exercise, folder: Path) -> None:
    (folder / f"{exercise.name}.ipynb").symlink_to(
        _of_the_honest(folder) / f"{exercise.name}.ipynb"
    )


@_attack("files and links", "the folder is a link to another student's")
def _(exercise: Exercise, folder: Path) -> None:
    folder.rmdir()
    folder.symlink_to(_of_the_honest(folder))


@_attack("files and links", "the notebook is a link to a device")
def _(exercise: Exercise, folder: Path) -> None:
    (folder / f"{exercise.name}.ipynb").symlink_to("/dev/zero")


@_attack("files and links", "the notebook is a socket")
def _(exercise: Exercise, folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(f"/proc/self/fd/{here}/{exercise.name}.ipynb")
    finally:
        os.close(here)


@_attack("files and links", "modules beside the notebook")
def _(exercise: Exercise, folder: Path) -> None:
    forged = "raise SystemExit\ndef __getattr__(name):\n    return 1.0\n"
    for name in (
        "numpy",
        "torch",
        "json",
        "IPython",
        "sitecustomize",
        "ipython_config",
        "_autotest_reply",
        "autograder",
        "attention_checks",
    ):
        (folder / f"{name}.py").write_text(forged, encoding="utf-8")
    code = "import importlib\nassert os.path.exists('numpy.py')\nimportlib.reload(json)"
    save(exercise, folder, with_code(exercise, code))


@_attack("files and links", "links beside the notebook")
def _(exercise: Exercise, folder: Path) -> None:
    (folder / "answers.txt").symlink_to(_of_the_honest(folder) / f"{exercise.name}.ipynb")
    os.mkfifo(folder / "pipe.txt")
    code = """
    found = {}
    for path in os.listdir():
        for cell in json.load(open(path))["cells"]:
            exec("".join(cell["source"]), found)
    plain = evaluation.serve
    evaluation.serve = lambda request, names: plain(request, {**names, **found})
    """
    save(exercise, folder, with_code(exercise, code))


@_attack("files and links", "a forged result beside the notebook")
def _(exercise: Exercise, folder: Path) -> None:
    notebook = solved(exercise, {}, written="")
    cells = tuple(
        CellResult(
            metadata_of(cell).grade_id,
            tuple(LineResult(c.expression, c.points) for c in parse_cell(cell.source).checks),
        )
        for cell in _grade_cells(notebook)
    )
    basis = Basis("", "", Limits(), {})
    forged = Result(folder.parent.name, exercise.name, cells, (), basis, 0.1).to_json()
    for name in (f"{exercise.name}.result.json", "result.json", ".result.json"):
        (folder / name).write_text(forged, encoding="utf-8")
    save(exercise, folder, with_code(exercise, "pass"))


@_attack("files and links", "files named like those of the class")
def _(exercise: Exercise, folder: Path) -> None:
    names = ("seeds.json", "gradebook.db", "grading.lock", f"{exercise.name}.json")
    # how a file that is being written is called
    for name in (*names, f"{exercise.name}.ipynb.new", f"{exercise.name}.html"):
        (folder / name).write_text("{}", encoding="utf-8")
    for name in ("autograded", "expected", "feedback", f"{exercise.name}.result.json"):
        (folder / name).mkdir()
    save(exercise, folder, with_code(exercise, "assert os.path.exists('seeds.json')"))


# Ready-made attention where it is forbidden -----------------------------------------------------

NOT_SEEN = "all points of attention: detection, not proof: "


def _evasion(name: str, code: str, undetected: str = "") -> None:
    """Register a use of ready-made attention: code defines ready(query, key, value, mask)."""

    @_attack("forbidden functions", name, undetected=undetected, exercise=FORBIDDING)
    def make(exercise: Exercise, folder: Path) -> None:
        notebook = solved(exercise, {"attention": READY_MADE}, written="")
        place = notebook.cells.index(answer_cell(notebook))
        notebook.cells.insert(place, new_code_cell(textwrap.dedent(code).strip()))
        save(exercise, folder, notebook)


READY_MADE = """def attention(query, key, value, mask=None):
    ones = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], key.shape[-2])
    return ready(query, key, value, mask), ready(query, key, ones, mask)"""
WEIGHTS_ONLY = """
import torch.nn.functional as F
from torch.nn.functional import multi_head_attention_forward as helper
def weights_of(query, key, function=helper):
    one, n = torch.eye(key.shape[-1], dtype=key.dtype), key.shape[-1]
    q, k = query.transpose(0, 1), key.transpose(0, 1)
    three = torch.cat([one, one, one])
    return function(q, k, k, n, 1, three, None, None, None, False, 0.0, one, None, need_weights=True)[1]
def ready(query, key, value, mask):
    return weights_of(query, key) @ value
"""
_evasion(
    "an alias imported earlier",
    "from torch.nn.functional import scaled_dot_product_attention as ready",
)
_evasion("the operator by its full name", "ready = torch.ops.aten.scaled_dot_product_attention")
_evasion("the function in C", "ready = torch._C._nn.scaled_dot_product_attention")
_evasion(
    "a refusal that is caught",
    """
    def ready(query, key, value, mask):
        try:
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask)
        except BaseException:
            scores = query @ key.mT / key.shape[-1] ** 0.5
            return torch.softmax(scores, -1) @ value
    """,
)
_evasion(
    "the operator's mathematical part",
    "ready = lambda *arguments: torch.ops.aten._scaled_dot_product_attention_math(*arguments)[0]",
)
_evasion(
    "the operator's fused part",
    """
    def ready(query, key, value, mask):
        four = [torch.atleast_3d(x)[None] if x.ndim < 4 else x for x in (query, key, value)]
        return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*four)[0].reshape(*query.shape[:-1], -1)
    """,
)
_evasion(
    "a traced copy",
    """
    def function(*three):
        return torch.nn.functional.scaled_dot_product_attention(*three)
    traced = torch.jit.trace(function, (torch.ones(2, 3, 4),) * 3)
    def ready(query, key, value, mask):
        return traced(query, key, value)
    """,
)
_evasion(
    "another thread",
    """
    import concurrent.futures
    def ready(*arguments):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            return pool.submit(torch.nn.functional.scaled_dot_product_attention, *arguments).result()
    """,
)
_evasion(
    "nested tensors",
    """
    def ready(query, key, value, mask):
        nested = [torch.nested.nested_tensor(list(x[:, None])) for x in (query, key, value)]
        return torch.stack(list(torch.nn.functional.scaled_dot_product_attention(*nested).unbind()))[:, 0]
    """,
)
_evasion("the whole multi-head function", WEIGHTS_ONLY)
_evasion(
    "a module built earlier",
    """
    class Sizes(dict):
        def __missing__(self, n):
            module = self[n] = torch.nn.MultiheadAttention(n, 1, bias=False, batch_first=True).double()
            module.in_proj_weight.data = torch.eye(n).double().repeat(3, 1)
            return module
    modules = Sizes()
    [modules[n] for n in range(1, 12)]
    def ready(query, key, value, mask):
        return modules[key.shape[-1]](query, key, key)[1] @ value
    """,
)
_evasion(
    "the module's own operator",
    """
    def ready(query, key, value, mask):
        n = key.shape[-1]
        one, zeros = torch.eye(n), torch.zeros(3 * n)
        query, key = query.float(), key.float()
        three = torch.cat([one, one, one])
        return torch._native_multi_head_attention(
            query, key, key, n, 1, three, zeros, one, zeros[:n], None, True, True, None)[1] @ value
    """,
)
_evasion(
    "flex_attention",
    """
    from torch.nn.attention.flex_attention import flex_attention
    def ready(query, key, value, mask):
        four = [x[None, None] if x.ndim < 3 else x[None] if x.ndim < 4 else x for x in (query, key, value)]
        return flex_attention(*four).reshape(*query.shape[:-1], -1)
    """,
)
_evasion(
    "vmap",
    """
    def ready(query, key, value, mask):
        function = torch.nn.functional.scaled_dot_product_attention
        if query.ndim < 3:
            return torch.func.vmap(function)(query[None], key[None], value[None])[0]
        masks = () if mask is None else (mask.expand(*query.shape[:-1], key.shape[-2]),)
        return torch.func.vmap(function)(query, key, value, *masks)
    """,
    NOT_SEEN + "vmap takes the operator apart before it can be refused",
)
_evasion(
    "a process forked before the check, and told to go on",
    """
    import concurrent.futures, ctypes, multiprocessing, signal
    def elsewhere(*arrays):
        three = [torch.from_numpy(array) for array in arrays]
        return torch.nn.functional.scaled_dot_product_attention(*three).numpy()
    pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
    pool.submit(len, "started before the check").result()
    seconds = [5]
    def ready(query, key, value, mask):
        for process in pool._processes:
            ctypes.CDLL(None).kill(process, signal.SIGCONT)
        answer = pool.submit(elsewhere, *[x.detach().numpy() for x in (query, key, value)])
        found = answer.result(seconds.pop() if seconds else 0)
        seconds.append(5)
        return torch.from_numpy(found)
    """,
)
# a program in another process, {} is a module whose forward gives weights of attention
ELSEWHERE = """
import contextlib, ctypes, os, select, signal, sys
program = '''
import sys, torch
torch.set_default_dtype(torch.float64)
def ready(query, key, value):
    n = key.shape[-1]
    module = {}
    module.in_proj_weight.data = torch.eye(n).repeat(3, 1)
    return module(query, key, key)[1] @ value
for line in sys.stdin:
    print(ready(*map(torch.tensor, eval(line))).tolist(), flush=True)
'''
open("program.py", "w").write(program)
seconds, pipes, c = [5], [], ctypes.CDLL(None)
def start():
    for name in ("questions", "answers"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        os.mkfifo(name)
    pipes[:] = [open(os.open(name, os.O_RDWR), "r+b", 0) for name in ("questions", "answers")]
    c.system(f"{{sys.executable}} program.py < questions > answers &".encode())
def has_answered(question, seconds):
    pipes[0].write(question)
    c.kill(-1, signal.SIGCONT)
    return bool(select.select(pipes[1:], [], [], seconds)[0])
def ready(query, key, value, mask):
    question = f"{{[x.tolist() for x in (query, key, value)]}}\\n".encode()
    if not seconds:
        raise TimeoutError
    if not (pipes and has_answered(question, 0.2)):
        # one of an earlier check stands still
        start()
        if not has_answered(question, seconds.pop()):
            raise TimeoutError
        seconds.append(5)
    return torch.tensor(eval(pipes[1].readline())).to(value)
"""
_evasion(
    "a module in a program started before the check",
    ELSEWHERE.format("torch.nn.MultiheadAttention(n, 1)")
    + "start()\nready(*torch.ones(3, 2, 2), None)",
)
_evasion(
    "a Transformer's layer in a program that the check starts",
    ELSEWHERE.format("torch.nn.TransformerEncoderLayer(n, 1).eval().self_attn"),
)
_evasion(
    "the detector switched off",
    """
    import contextlib, sys
    for name in ("autograder.runtime.evaluate", "attention_checks.evaluate"):
        if name in sys.modules:
            sys.modules[name].forbidding = lambda names, noted: contextlib.nullcontext()
    ready = torch.nn.functional.scaled_dot_product_attention
    """,
    NOT_SEEN + "it works in the student's process",
)
