"""torch is used where an exercise has imported it, is never imported to find out, and can't be replaced."""

import subprocess
import sys

import pytest

from autograder.package import PACKAGE_ROOT

BEFORE = """
import sys
import numpy as np
from autograder.runtime import evaluate, settings, tensors
from autograder.runtime.draw import Draw
from autograder.runtime.grade_cell import checks_with_inputs, parse_cell

cell = parse_cell("n = draw.integer(2, 9)\\ncheck('f(n)', points=1)")
((check, inputs),) = checks_with_inputs(cell, Draw(1))
got = evaluate.evaluate("[f(n), {'a': np.ones(2)}]", {"f": lambda n: n / 2}, inputs, 3)
assert got["value"]["kind"] == "list", got
with settings.one_thread():
    pass
assert tensors.loaded() is None and not tensors.is_tensor(np.ones(2)) and not tensors.is_module(3)
assert tensors.libraries() == {"np": np}
assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
"""
AFTER = """
import types
import torch

assert tensors.loaded() is torch and tensors.libraries() == {"np": np, "torch": torch}
assert tensors.is_tensor(torch.ones(2)) and tensors.is_module(torch.nn.Linear(1, 1))
sys.modules["torch"] = types.ModuleType("torch")
assert tensors.loaded() is torch and tensors.needed() is torch
"""
DRAWN = """
from autograder.runtime import tensors
from autograder.runtime.draw import Draw
assert tensors.is_tensor(Draw(1).tensor(2, 3))
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(BEFORE, id="not imported"),
        pytest.param(BEFORE + AFTER, id="imported and replaced"),
        pytest.param(DRAWN, id="drawn"),
    ],
)
def test_torch_is_known_when_it_has_been_imported(program):
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=PACKAGE_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
