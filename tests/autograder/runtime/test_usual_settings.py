"""What a notebook sets for all of its process reaches no check, in the notebook and in the grader."""

import json

import pytest
import torch

from autograder import embedding
from autograder.instructor_settings import Settings
from autograder.kernels.student_kernel import StudentKernel
from autograder.runtime.plain_data import encode, pack
from tests.support.notebook_checks import check

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
OVERFLOW = "bool(np.isinf(np.exp(np.float64(1000))))", True
GRADIENT = "torch.ones(1, requires_grad=True).exp().requires_grad", True
WARNING = "__import__('warnings').warn('only this')", None
TRACE = "__import__('sys').gettrace() is None", True
# said whole, because settings of other tests stay in the kernel that they share
MATRIX = "torch.ones(1, 1, device='cpu', dtype=torch.float32)"
# what a setting would change, and what it is without
PROBES = {
    "float64 by default": ("str(torch.ones(1).dtype)", "torch.float32"),
    "float16 by default": ("str(torch.ones(1).dtype)", "torch.float32"),
    "device meta by default": ("str(torch.ones(1).device)", "cpu"),
    "device entered": ("str(torch.ones(1).device)", "cpu"),
    "no gradients": GRADIENT,
    "inference mode": GRADIENT,
    "mixed precision": (f"str(({MATRIX} @ {MATRIX}).dtype)", "torch.float32"),
    "anomalies": ("torch.is_anomaly_enabled()", False),
    "deterministic algorithms": ("torch.are_deterministic_algorithms_enabled()", False),
    "eight threads": ("torch.get_num_threads()", 1),
    "hook of all modules": ("torch.nn.Identity()(3)", 3),
    "hook of saved tensors": (
        f"torch.inference_mode(False)(lambda: {MATRIX}.requires_grad_().exp().item() > 2)()",
        True,
    ),
    "mode of torch's functions": ("torch.matmul(torch.ones(1, 1), torch.ones(1, 1)).item()", 1.0),
    "numbers printed short": (
        "str(np.array([1 / 3])) + str(torch.tensor([1 / 3]))",
        "[0.33333333]tensor([0.3333])",
    ),
    "overflow raises": OVERFLOW,
    "overflow calls": OVERFLOW,
    "warnings are errors": WARNING,
    "warnings raise": WARNING,
    "threads that don't give way": ("round(__import__('sys').getswitchinterval(), 6)", 1e-4),
    "shallow recursion": ("(lambda f: f(f, 500))(lambda f, n: n and f(f, n - 1))", 0),
    "tracing": TRACE,
    "tracing that raises": TRACE,
}
# it changes nothing that a check could see
WITHOUT_PROBE = {"no garbage collector"}


@pytest.fixture(scope="module")
def kernel():
    told = {
        "mistakes": {},
        "sections": {},
        "ways": {},
        "tasks": [],
        "packages": [],
        "graded": {"values": []},
    }
    packed = embedding.packed_sources()
    checker = f"{embedding.loader()}\nload_checks({packed!r}).install_packed({pack(told)!r})"
    with StudentKernel(Settings()) as started:
        assert started.run("import numpy as np\nimport torch", 20).status == "ok"
        assert started.run(checker, 20).status == "ok"
        yield started


def test_every_setting_of_the_list_has_a_probe():
    assert set(SETTINGS) - WITHOUT_PROBE == set(PROBES)


@pytest.mark.parametrize("name", PROBES)
def test_a_setting_reaches_no_check(kernel, name):
    expression, usual = PROBES[name]
    same = f"assert ({expression}) == {usual!r}"
    if name in ("tracing", "tracing that raises"):
        # IPython's own loop has no trace between cells
        same = f"{SETTINGS[name]}\n{same}"
    else:
        assert kernel.run(SETTINGS[name], 20).status == "ok"
    assert kernel.run(same, 20).status == "error"
    if name.startswith("tracing"):
        kernel.run(SETTINGS[name], 20)
    draw = {"inputs": {}, "parameter_seed": 3}
    asked = kernel.ask({"expression": expression, "forbidden": [], "draws": [draw]}, 20)
    value = json.loads(asked.value)[0]["value"]
    assert value["kind"] != "error" and value.get("value") == usual
    seen = kernel.run(f"%%autotest values\nn = draw.integer(1, 9)\n{check(expression, usual)}", 20)
    assert seen.status == "ok", seen.outputs
    # afterwards it is as the notebook has it
    assert kernel.run(same, 20).status == "error"


def test_what_a_line_is_given_is_made_under_usual_settings(kernel):
    """A tensor made in inference mode can't be saved for gradients."""
    assert kernel.run(SETTINGS["inference mode"], 20).status == "ok"
    draw = {"inputs": {"x": encode(torch.ones(1))}, "parameter_seed": 3}
    request = {"expression": "x.is_inference()", "forbidden": [], "draws": [draw]}
    value = json.loads(kernel.ask(request, 20).value)[0]["value"]
    assert value["kind"] != "error" and value["value"] is False
