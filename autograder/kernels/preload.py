"""Imports all that kernels need: a fork server does this once, and then forks kernels."""

import contextlib
import gc
import importlib

import ipykernel.debugger
import ipykernel.ipkernel
import ipykernel.kernelapp  # noqa: F401
import IPython.core.interactiveshell  # noqa: F401
import numpy  # noqa: F401

import autograder.runtime.evaluate  # noqa: F401
from autograder.runtime import tensors

# what IPython imports while a kernel starts, and what it needs to show the first error
FOR_IPYTHON = (
    "faulthandler",
    "sqlite3",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "pygments.formatters.terminal256",
    "pygments.styles.default",
    "stack_data",
)
# Students' Python may lack these. No exercise needs matplotlib; one that uses torch isn't graded without.
for name in ("torch", "matplotlib.font_manager", *FOR_IPYTHON):
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(name)

# from now on the runtime knows torch, whatever a submission puts into its place
if torch := tensors.loaded():
    torch.set_num_threads(1)
# the garbage collector of forked children would write to, and so copy, the memory of these modules
gc.freeze()
