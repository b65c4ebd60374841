"""Styles of correct work that graders are known to reject, and that must get full marks here.

Each starts from the solved notebook. The audit grades them all and runs the student's own check: both
must say the same about every line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.audit.registry import HONEST_STYLES, Change, HonestStyle
from autograder.exercises import is_answer_cell
from autograder.programs import spans_of


def _register(made: HonestStyle) -> None:
    if made.name in HONEST_STYLES:
        raise ValueError(f"two styles are called {made.name!r}")
    HONEST_STYLES[made.name] = made


def style(name: str) -> Callable[[Change], Change]:
    """Register a style by how it changes the solved notebook."""

    def register(change: Change) -> Change:
        _register(HonestStyle(name, change))
        return change

    return register


def damage(name: str) -> Callable[[Change], Change]:
    """Register something that happens to the file after the student's last look."""

    def register(change: Change) -> Change:
        _register(HonestStyle(name, lambda notebook: None, change))
        return change

    return register


def answers_of(notebook: NotebookNode) -> list[NotebookNode]:
    """A notebook's answer cells that hold code."""
    return [cell for cell in notebook.cells if is_answer_cell(cell)]


def _code(text: str) -> NotebookNode:
    return new_code_cell(textwrap.dedent(text).strip())


def add_before(name: str, *codes: str) -> None:
    """Register cells of the student's own before the first answer."""

    @style(name)
    def change(notebook: NotebookNode) -> None:
        first = notebook.cells.index(answers_of(notebook)[0])
        notebook.cells[first:first] = [_code(code) for code in codes]


def add_after(name: str, *codes: str) -> None:
    """Register cells of the student's own behind every answer."""

    @style(name)
    def change(notebook: NotebookNode) -> None:
        for cell in answers_of(notebook):
            place = notebook.cells.index(cell) + 1
            notebook.cells[place:place] = [_code(code) for code in codes]


def decorate(name: str, code: str) -> None:
    """Register answers wrapped by the decorator `styled` that code defines; of a class, its forward."""

    @style(name)
    def change(notebook: NotebookNode) -> None:
        for cell in answers_of(notebook):
            (answer,) = spans_of(cell.source)
            target = f"{answer}.forward" if re.match("class ", cell.source) else answer
            place = notebook.cells.index(cell)
            notebook.cells.insert(place + 1, _code(f"{target} = styled({target})"))
            notebook.cells.insert(place, _code(code))


CONVERTED = """
import collections, functools
def styled(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return walk(function(*arguments, **named))
    return wrapper
def walk(value):
    if isinstance(value, tuple):
        return tuple(walk(item) for item in value)
    if isinstance(value, dict):
        return {key: walk(item) for key, item in value.items()}
    return convert(value)
"""


def convert_results(name: str, code: str) -> None:
    """Register answers whose results go through `convert`, defined in code."""
    decorate(name, CONVERTED + textwrap.dedent(code))


# What is printed, shown and warned --------------------------------------------------------------

decorate(
    "prints, with carriage returns and all of Unicode",
    """
    def styled(function):
        def wrapper(*arguments, **named):
            print("ψ → ∑ 注意 🎓", end="\\r")
            print("\\r 50%|████▌    |\\x1b[31m red \\x1b[0m", flush=True)
            return function(*arguments, **named)
        return wrapper
    """,
)
decorate(
    "warnings, stderr and logging",
    """
    import logging, sys, warnings
    def styled(function):
        def wrapper(*arguments, **named):
            warnings.warn("this is only a warning")
            print("working", file=sys.stderr)
            logging.getLogger().error("logged")
            return function(*arguments, **named)
        return wrapper
    """,
)
add_before("warnings turned into errors", "import warnings\nwarnings.simplefilter('error')")
add_before("numpy errors turned into exceptions", "import numpy as np\nnp.seterr(all='raise')")
add_before(
    "standard output replaced by a tee",
    """
    import sys
    class Tee:
        def __init__(self, stream):
            self.stream, self.kept = stream, []
        def write(self, text):
            self.kept.append(text)
            return self.stream.write(text)
        def __getattr__(self, name):
            return getattr(self.stream, name)
    sys.stdout, sys.stderr = Tee(sys.stdout), Tee(sys.stderr)
    """,
)
add_after("a figure", "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()")

# Cells of the student's own ---------------------------------------------------------------------

add_before(
    "magics and shell commands",
    "%matplotlib inline",
    "%timeit -n 1 -r 1 sum(range(10))\n!echo hello\nlisting = !ls",
    "%%capture captured\nprint('hidden')",
    "%config InlineBackend.figure_format = 'svg'",
    "%load_ext autoreload\n%autoreload 2",
)
add_before(
    "helpers, empty cells and comments",
    "",
    "# nothing but a comment",
    "from dataclasses import dataclass\n@dataclass\nclass Note:\n    text: str = ''",
    "helper = [n * n for n in range(10)]\ndel helper",
    "import asyncio\nawait asyncio.sleep(0)",
)
add_before(
    "a module written from the notebook",
    "%%writefile helper.py\ndef identity(x):\n    return x",
    "from helper import identity\nassert identity(1) == 1",
)
add_before("experiments that raise before the answers", "1 / 0", "undefined_name", "def broken(:")
add_after(
    "experiments that raise behind the answers", "raise ValueError('an experiment')", "%no_magic"
)
add_after("an exit behind every answer", "import sys\nsys.exit('done')", "quit()", "exit")


@style("everything deleted and run again")
def _(notebook: NotebookNode) -> None:
    first = notebook.cells.index(answers_of(notebook)[0])
    again = [cell.source for cell in notebook.cells if cell.id in ("imports", "built_so_far")]
    notebook.cells[first:first] = [_code(code) for code in ("%reset -f", *again)]


add_before(
    "names that tests use too",
    """
    draw = check = forbid = fill = gradients = inputs_after = raised = HELPERS = None
    query = key = value = mask = scores = x = b = h = T = S = B = d = dk = dv = weights = None
    parameter_shapes = dtype_of = judge = evaluate = serve = autotest = reply = 0
    _autotest_reply = load_checks = attention_checks = Checks = install_packed = Draw = 0
    """,
)
add_before("builtins' names reused", "getattr = hasattr = vars = dir = id = 'mine'")
add_before(
    "a working directory of its own",
    "import os, tempfile\nos.chdir(tempfile.mkdtemp())\nos.environ['ANSWER'] = '42'",
)

# Settings ---------------------------------------------------------------------------------------

add_before("float64 as default dtype", "torch.set_default_dtype(torch.float64)")
add_before("float16 as default dtype", "torch.set_default_dtype(torch.float16)")
add_before("gradients switched off", "torch.set_grad_enabled(False)")
add_before(
    "inference mode entered and never left", "mode = torch.inference_mode()\nmode.__enter__()"
)
add_before(
    "seeds set",
    "import random\nimport numpy as np\nrandom.seed(0)\nnp.random.seed(0)\ntorch.manual_seed(0)",
)
add_before(
    "deterministic algorithms and anomaly detection",
    "torch.use_deterministic_algorithms(True)\ntorch.autograd.set_detect_anomaly(True)",
)
add_before("a small recursion limit", "import sys\nsys.setrecursionlimit(400)")
add_before("annotations from the future", "from __future__ import annotations")

# Results in other types -------------------------------------------------------------------------

convert_results(
    "results that aren't contiguous",
    """
    import numpy as np
    def convert(value):
        if isinstance(value, np.ndarray):
            return np.stack([value, value], axis=-1)[..., 0] if value.ndim < 2 else np.asfortranarray(value)[::1]
        return torch.stack([value, value], -1)[..., 0] if isinstance(value, torch.Tensor) else value
    """,
)
convert_results(
    "results that require grad",
    """
    def convert(value):
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            return value + torch.zeros((), dtype=value.dtype, requires_grad=True)
        return value
    """,
)
convert_results(
    "NumPy scalars for numbers",
    """
    import numpy as np
    def convert(value):
        return {float: np.float64, int: np.int64, bool: np.bool_}.get(type(value), lambda x: x)(value)
    """,
)
convert_results(
    "arrays without axes for numbers",
    "import numpy as np\ndef convert(value):\n    return np.array(value) if isinstance(value, float) else value",
)
convert_results(
    "array subclasses",
    """
    import numpy as np
    class Mine(np.ndarray):
        pass
    def convert(value):
        return value.view(Mine) if isinstance(value, np.ndarray) else value
    """,
)
decorate(
    "lists for tuples",
    """
    def styled(function):
        def wrapper(*arguments, **named):
            result = function(*arguments, **named)
            return list(result) if isinstance(result, tuple) else result
        return wrapper
    """,
)
decorate(
    "named tuples and other dictionaries",
    """
    import collections
    def styled(function):
        def wrapper(*arguments, **named):
            result = function(*arguments, **named)
            if isinstance(result, tuple):
                names = [f"part_{i}" for i in range(len(result))]
                return collections.namedtuple("Result", names)(*result)
            return collections.OrderedDict(sorted(result.items())) if isinstance(result, dict) else result
        return wrapper
    """,
)

convert_results(
    "tensor subclasses",
    """
    class Mine(torch.Tensor):
        pass
    def convert(value):
        return value.as_subclass(Mine) if isinstance(value, torch.Tensor) else value
    """,
)
convert_results(
    "big-endian arrays",
    """
    import numpy as np
    def convert(value):
        is_plain = isinstance(value, np.ndarray) and value.dtype == np.float64
        return value.astype(">f8") if is_plain else value
    """,
)
convert_results(
    "read-only arrays",
    """
    import numpy as np
    def convert(value):
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        return value
    """,
)
add_before("the garbage collector switched off", "import gc\ngc.disable()")
add_before("two threads for torch", "torch.set_num_threads(2)")
add_before(
    "logging to a file and to stderr",
    "import logging\nlogging.basicConfig(level=logging.DEBUG)\nlogging.getLogger().addHandler(logging.FileHandler('own.log'))\nlogging.info('begun')",
)
add_before(
    "an unfinished background thread",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
)
decorate(
    "data loaded by a process of its own",
    """
    import torch
    def styled(function):
        def wrapper(*arguments, **named):
            if not loaded:
                loaded.extend(torch.utils.data.DataLoader([1, 2], num_workers=1))
            assert sum(loaded) == 3
            return function(*arguments, **named)
        return wrapper
    loaded = []
    """,
)
# Code in another style --------------------------------------------------------------------------


@style("layers in another order, with a mixin and an extra Dropout")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        if re.match(r"class \w+\(", cell.source):
            (name,) = spans_of(cell.source)
            code = f"""
            class Mixin:
                def number_of_parameters(self):
                    return sum(p.numel() for p in self.parameters())

            class Other{name}(Mixin, {name}):
                def __init__(self, *arguments, **named):
                    super().__init__(*arguments, **named)
                    self._modules = dict(reversed(self._modules.items()))
                    self.extra_dropout = torch.nn.Dropout(0.5)
                def forward(self, *arguments, **named):
                    self.extra_dropout(torch.ones(3))
                    return super().forward(*arguments, **named)
            {name} = Other{name}
            """
            notebook.cells.insert(notebook.cells.index(cell) + 1, _code(code))


@style("renamed imports")
def _(notebook: NotebookNode) -> None:
    first = notebook.cells.index(answers_of(notebook)[0])
    notebook.cells.insert(first, _code("import numpy as xp\nimport torch as pytorch"))
    for cell in answers_of(notebook):
        cell.source = re.sub(r"\bnp\.", "xp.", re.sub(r"\btorch\.", "pytorch.", cell.source))


@style("an import added to the locked cell")
def _(notebook: NotebookNode) -> None:
    (imports,) = [cell for cell in notebook.cells if cell.id == "imports"]
    imports.source += "\nimport numpy as xp"
    for cell in answers_of(notebook):
        cell.source = re.sub(r"\bnp\.", "xp.", cell.source)


# Answers that have moved ------------------------------------------------------------------------


@style("answer cells split, the halves with the same marks")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        half = NotebookNode(cell, source="import math\nepsilon = 0.0", id=f"{cell.id}-first")
        notebook.cells.insert(notebook.cells.index(cell), half)


@style("answers in cells of one's own")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        notebook.cells.insert(notebook.cells.index(cell) + 1, new_code_cell(cell.source))
        (name,) = spans_of(cell.source)
        cell.source = f"def {name}(*arguments):\n    raise NotImplementedError('To do: see below')"


@style("all answers at the top")
def _(notebook: NotebookNode) -> None:
    answers = answers_of(notebook)
    rest = [cell for cell in notebook.cells if cell not in answers]
    place = [cell.id for cell in rest].index("checker") + 1
    notebook.cells = rest[:place] + answers + rest[place:]


@style("earlier attempts kept")
def _(notebook: NotebookNode) -> None:
    for cell in answers_of(notebook):
        notebook.cells.insert(notebook.cells.index(cell), _code(f"{cell.source}\n1 / 0"))


@damage("metadata stripped by another editor")
def _(notebook: NotebookNode) -> None:
    notebook.metadata = NotebookNode()
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
        cell.pop("id", None)


@damage("cell ids lost")
def _(notebook: NotebookNode) -> None:
    notebook.nbformat_minor = 4
    for cell in notebook.cells:
        cell.pop("id", None)


@damage("answer cells retyped")
def _(notebook: NotebookNode) -> None:
    for number, cell in enumerate(answers_of(notebook)):
        cell.cell_type = ("raw", "markdown")[number % 2]


@damage("line ends of another system")
def _(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        cell.source = cell.source.replace("\n", "\r\n")
