"""Imports all that kernels need: a fork server does this once, and then forks kernels."""

import contextlib
import gc

import ipykernel.debugger
import ipykernel.ipkernel
import ipykernel.kernelapp  # noqa: F401
import IPython.core.interactiveshell  # noqa: F401
import numpy  # noqa: F401
import torch

import autograder.runtime.evaluate  # noqa: F401

with contextlib.suppress(ModuleNotFoundError):
    # students' Python may lack it; the exercises do without
    import matplotlib.font_manager  # noqa: F401

torch.set_num_threads(1)
# the garbage collector of forked children would write to, and so copy, the memory of these modules
gc.freeze()
