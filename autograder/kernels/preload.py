"""All that kernels need, imported: what the fork server has done before it forks the first one."""

import gc

import ipykernel.debugger
import ipykernel.ipkernel
import ipykernel.kernelapp  # noqa: F401
import IPython.core.interactiveshell  # noqa: F401
import matplotlib.font_manager  # noqa: F401
import numpy  # noqa: F401
import torch

import autograder.runtime.evaluate  # noqa: F401

torch.set_num_threads(1)
# keep the collector of forked children from touching, and so copying, the memory of these modules
gc.freeze()
