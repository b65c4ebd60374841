"""All that kernels need, imported: what a warm process has done before it forks the first one."""

import gc
import inspect

import ipykernel.debugger
import ipykernel.ipkernel
import ipykernel.kernelapp
import IPython.core.interactiveshell
import matplotlib.font_manager
import numpy
import torch

from autograder.runtime import autotest

torch.set_num_threads(1)
# what every kernel begins with, compiled
AUTOTEST = compile(inspect.getsource(autotest), "autotest.py", "exec")
LOADED = (ipykernel, IPython, matplotlib, numpy)
# what is here to stay need not be copied when a child's collector looks at it
gc.freeze()
