"""Right submissions that misbehave: whatever they do beside their answers, their grade must be one number.

`MISBEHAVING` holds, by name, what makes a notebook of the solved exercise. Each is one example of a kind: a
process that ends early or late, a setting that reaches further than its cell, chance, order, load.
"""

from __future__ import annotations

from collections.abc import Callable

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.course import Exercise
from autograder.exercises import (
    answer_cell,
    is_answer_cell,
    is_grade_cell,
    reference_answers,
    solved,
)

EXERCISE = "ch2_scaled_dot_product"
MISBEHAVING: dict[str, Callable[[NotebookNode], None]] = {}


def notebook_of(exercise: Exercise, name: str) -> NotebookNode:
    """The solved exercise, made to misbehave in the way of that name."""
    notebook = solved(exercise, reference_answers(exercise))
    MISBEHAVING[name](notebook)
    return notebook


def _own_cell(name: str, code: str, answer: int = 1) -> None:
    """A cell of the student's own before the answer of a number, from 0."""

    def change(notebook: NotebookNode) -> None:
        place = notebook.cells.index(answer_cell(notebook, answer))
        notebook.cells.insert(place, new_code_cell(code))

    MISBEHAVING[name] = change


def _behind_softmax(name: str, code: str) -> None:
    """Code behind the first answer, before its checks."""

    def change(notebook: NotebookNode) -> None:
        place = notebook.cells.index(answer_cell(notebook)) + 1
        notebook.cells.insert(place, new_code_cell(code))

    MISBEHAVING[name] = change


# The process ends, at once or later ----------------------------------------------------------------

ENDS = {
    "quit": "quit()",
    "exit without a call": "exit",
    "exit in a loop": "for _ in range(3):\n    exit(0)",
    "ask_exit": "get_ipython().ask_exit()",
    "exit_now": "get_ipython().exit_now = True",
    "SystemExit": "raise SystemExit(0)",
    "os._exit": "import os\nos._exit(1)",
    "os.abort": "import os\nos.abort()",
    "kill of itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "terminates itself": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "kills its group": "import os, signal\nos.killpg(0, signal.SIGKILL)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "raised signal": "import signal\nsignal.raise_signal(signal.SIGKILL)",
    "alarm": "import signal\nsignal.alarm(1)",
    "timer of the system": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.2)",
    "timer in a thread": "import os, threading\nthreading.Timer(0.2, os._exit, [1]).start()",
    "kill in a thread": (
        "import os, signal, threading, time\n"
        "def end():\n    time.sleep(0.3)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=end, daemon=True).start()"
    ),
    "interrupt in a thread": (
        "import _thread, threading\nthreading.Timer(0.05, _thread.interrupt_main).start()"
    ),
    "call_later of sys.exit": (
        "import asyncio, sys\nasyncio.get_event_loop().call_later(0.2, sys.exit)"
    ),
    "call_later of stop": (
        "import asyncio\nloop = asyncio.get_event_loop()\nloop.call_later(0.1, loop.stop)"
    ),
    "task that exits": (
        "import asyncio, sys\nasync def end():\n    await asyncio.sleep(0.1)\n    sys.exit()\n"
        "task = asyncio.get_event_loop().create_task(end())"
    ),
    "end in C": "import ctypes\nctypes.CDLL(None)._exit(1)",
    "end in C, later": (
        "import ctypes, threading\nthreading.Timer(0.2, ctypes.CDLL(None)._exit, [1]).start()"
    ),
    "segmentation fault": "import ctypes\nctypes.string_at(0)",
    "killed by a child": (
        "import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 0.2; kill -9 $PPID'])"
    ),
}

# Settings that reach further than their cell ------------------------------------------------------------

SETTINGS = {
    "float64 by default": "torch.set_default_dtype(torch.float64)",
    "float16 by default": "torch.set_default_dtype(torch.float16)",
    "device meta by default": "torch.set_default_device('meta')",
    "device entered": "torch.device('meta').__enter__()",
    "no gradients": "torch.set_grad_enabled(False)",
    "inference mode": "mode = torch.inference_mode()\nmode.__enter__()",
    "mixed precision": "torch.autocast('cpu', dtype=torch.bfloat16).__enter__()",
    "anomalies": "torch.autograd.set_detect_anomaly(True)",
    "deterministic algorithms": "torch.use_deterministic_algorithms(True)",
    "eight threads": "torch.set_num_threads(8)",
    "hook of all modules": (
        "def refuse(*arguments):\n    raise RuntimeError('a hook')\n"
        "torch.nn.modules.module.register_module_forward_pre_hook(refuse)"
    ),
    "hook of saved tensors": (
        "def refuse(x):\n    raise RuntimeError('a hook')\n"
        "torch.autograd.graph.saved_tensors_hooks(refuse, refuse).__enter__()"
    ),
    "mode of torch's functions": (
        "class Half(torch.overrides.TorchFunctionMode):\n"
        "    def __torch_function__(self, function, types, args=(), kwargs=None):\n"
        "        found = function(*args, **(kwargs or {}))\n"
        "        return found / 2 if function is torch.matmul else found\n"
        "Half().__enter__()"
    ),
    "numbers printed short": (
        "np.set_printoptions(precision=1, threshold=3)\ntorch.set_printoptions(precision=1)"
    ),
    "overflow raises": "np.seterr(all='raise')",
    "overflow calls": (
        "def refuse(*arguments):\n    raise RuntimeError('a call')\n"
        "np.seterrcall(refuse)\nnp.seterr(all='call')"
    ),
    "warnings are errors": "import warnings\nwarnings.simplefilter('error')",
    "warnings raise": (
        "import warnings\ndef show(*arguments, **named):\n    raise RuntimeError('a warning')\n"
        "warnings.showwarning = show\nwarnings.simplefilter('always')"
    ),
    "threads that don't give way": "import sys\nsys.setswitchinterval(1)",
    "shallow recursion": "import sys\nsys.setrecursionlimit(120)",
    "tracing": (
        "import sys\ndef trace(frame, event, argument):\n    return trace\nsys.settrace(trace)"
    ),
    "tracing that raises": (
        "import sys\ndef trace(frame, event, argument):\n"
        "    if frame.f_code.co_name == 'attention':\n        raise RuntimeError('a trace')\n"
        "sys.settrace(trace)"
    ),
    "no garbage collector": "import gc\ngc.disable()\nkept = [[] for _ in range(10**6)]",
}
for name, code in {**ENDS, **SETTINGS}.items():
    _own_cell(name, code)

# Compiling ----------------------------------------------------------------------------------------------


def _compiled(decorator: str) -> Callable[[NotebookNode], None]:
    def change(notebook: NotebookNode) -> None:
        cell = answer_cell(notebook, 2)
        cell.source = cell.source.replace("def attention(", f"{decorator}\ndef attention(", 1)

    return change


MISBEHAVING["compiled"] = _compiled("@torch.compile")
MISBEHAVING["compiled with options"] = _compiled("@torch.compile(fullgraph=True, dynamic=False)")
_own_cell("compiled afterwards", "attention = torch.compile(attention)", answer=3)

# Chance, time and memory ------------------------------------------------------------------------------------

WRONG_SOMETIMES = (
    "_right = softmax\ndef softmax(x, axis=-1):\n    found = _right(x, axis)\n"
    "    return 2 * found if {coin} else found"
)
for name, code in {
    "a coin of Python": "import random\n" + WRONG_SOMETIMES.format(coin="random.random() < 0.3"),
    "a coin of NumPy": WRONG_SOMETIMES.format(coin="np.random.rand() < 0.3"),
    "a new generator of NumPy": WRONG_SOMETIMES.format(
        coin="np.random.default_rng().random() < 0.3"
    ),
    "a coin of torch": WRONG_SOMETIMES.format(coin="torch.rand(()) < 0.3"),
    "a coin thrown once": (
        "import random\nlucky = random.random()\n" + WRONG_SOMETIMES.format(coin="lucky < 0.5")
    ),
    "the order of a set": WRONG_SOMETIMES.format(coin="next(iter({'a', 'b', 'c', 'd'})) < 'c'"),
    "every third call": "calls = []\n"
    + WRONG_SOMETIMES.format(coin="calls.append(0) or len(calls) % 3 == 0"),
}.items():
    _behind_softmax(name, code)

for name, code in {
    "sleeps": "import time\ntime.sleep(4)",
    "sleeps before each answer": (
        "import time\n_quick = softmax\ndef softmax(x, axis=-1):\n    time.sleep(0.1)\n"
        "    return _quick(x, axis)"
    ),
    "busy threads": (
        "import threading\ndef spin():\n    while True:\n        pass\n"
        "for _ in range(2):\n    threading.Thread(target=spin, daemon=True).start()"
    ),
    "busy children": (
        "import subprocess\nfor _ in range(2):\n"
        "    subprocess.Popen(['sh', '-c', 'while :; do :; done'])"
    ),
    "a gigabyte": "held = bytearray(10**9)",
    "more memory than there is": "held = [bytearray(10**9) for _ in range(4)]",
    "memory in a thread": (
        "import threading, time\nheld = []\ndef fill():\n    while True:\n"
        "        held.append(bytearray(3 * 10**7))\n        time.sleep(0.002)\n"
        "threading.Thread(target=fill, daemon=True).start()"
    ),
    "swallowed exceptions": (
        "def patient(function):\n    def call(*arguments, **named):\n        try:\n"
        "            return function(*arguments, **named)\n        except BaseException:\n"
        "            return None\n    return call\nsoftmax = patient(softmax)"
    ),
    "swallowed interrupts": (
        "def spin():\n    while True:\n        try:\n            while True:\n"
        "                pass\n        except BaseException:\n            pass\nspin()"
    ),
    "prints in a thread": (
        "import threading, time\ndef talk():\n    while True:\n        print('still here')\n"
        "        time.sleep(0.001)\nthreading.Thread(target=talk, daemon=True).start()"
    ),
    "closed outputs": "import os, sys\nsys.stdout.close()\nos.close(1)",
    "no modules": (
        "import sys\nfor name in list(sys.modules):\n    if name.split('.')[0] == 'numpy':\n"
        "        del sys.modules[name]"
    ),
}.items():
    _own_cell(name, code)

# Order ----------------------------------------------------------------------------------------------------------


def _answers_in_reverse(notebook: NotebookNode) -> None:
    """All answers first, the last one first; then the checks."""
    answers = [cell for cell in notebook.cells if is_answer_cell(cell)]
    others = [cell for cell in notebook.cells if not is_answer_cell(cell)]
    first = others.index(next(filter(is_grade_cell, others)))
    notebook.cells = [*others[:first], *reversed(answers), *others[first:]]


def _helper_between(notebook: NotebookNode) -> None:
    """The second answer above the first, which uses a helper that stands between them."""
    first, second = answer_cell(notebook), answer_cell(notebook, 1)
    first.source += "\n_own = softmax\ndef softmax(x, axis=-1):\n    return same(_own(x, axis))"
    notebook.cells.remove(second)
    place = notebook.cells.index(first)
    notebook.cells[place:place] = [second, new_code_cell("def same(x):\n    return x")]


def _checks_last(notebook: NotebookNode) -> None:
    """Own cells between the answers, all checks at the end."""
    checks = [cell for cell in notebook.cells if is_grade_cell(cell)]
    others = [cell for cell in notebook.cells if not is_grade_cell(cell)]
    second = answer_cell(notebook, 1)
    others.insert(others.index(second), new_code_cell("_own = softmax"))
    others[-1:-1] = checks
    notebook.cells = others


def _answer_below(notebook: NotebookNode) -> None:
    """The first answer in a cell of the student's own at the end, the stub where it was."""
    cell = answer_cell(notebook)
    notebook.cells.append(new_code_cell(cell.source))
    cell.source = "def softmax(x, axis=-1):\n    raise NotImplementedError"


MISBEHAVING |= {
    "answers in reverse": _answers_in_reverse,
    "helper between moved answers": _helper_between,
    "checks last": _checks_last,
    "answer below its check": _answer_below,
}
