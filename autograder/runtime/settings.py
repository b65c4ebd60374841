"""Settings that a notebook may have made for all of its process: checks run without them.

What is computed must depend on an answer and its inputs, not on what a cell has switched on elsewhere. The
one list of such settings is `usual_settings`; after a check they are as the notebook has them.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .tensors import loaded
from .torch_internals import without_modes_and_hooks

# as they are before a notebook's first own cell
_PRINTED, _SHOW_WARNING = np.get_printoptions(), warnings.showwarning
# deep enough for an answer that calls itself; a notebook may ask for more
RECURSION_LIMIT = 3_000
# seconds after which a thread gives way to another: a check doesn't wait long for those of a notebook
SWITCH_SECONDS = 1e-4


@contextlib.contextmanager
def usual_settings() -> Iterator[None]:
    """For its duration, Python, NumPy and torch as they are before a notebook's first own cell."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_set(sys.gettrace, sys.settrace, None))
        if callable(sys.getprofile()):
            # a profiler written in C can't be put back
            stack.enter_context(_set(sys.getprofile, sys.setprofile, None))
        depth = max(RECURSION_LIMIT, sys.getrecursionlimit())
        stack.enter_context(_set(sys.getrecursionlimit, sys.setrecursionlimit, depth))
        stack.enter_context(_set(sys.getswitchinterval, sys.setswitchinterval, SWITCH_SECONDS))
        stack.enter_context(warnings.catch_warnings())
        warnings.showwarning = _SHOW_WARNING
        if any(action == "error" for action, *_ in warnings.filters):
            warnings.simplefilter("default")
        stack.enter_context(np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"))
        stack.enter_context(np.printoptions(**_PRINTED))
        torch = loaded()
        if torch is not None:
            for context in _of_torch(torch):
                stack.enter_context(context)
        yield


def _of_torch(torch: Any) -> Iterator[contextlib.AbstractContextManager]:
    """The same for torch."""
    # default device, default dtype, and modes that change what a function gives
    yield without_modes_and_hooks()
    yield _set(torch.get_default_dtype, torch.set_default_dtype, torch.float32)
    yield torch.inference_mode(False)
    yield torch.enable_grad()
    # the cache would keep weights in half precision
    yield torch.autocast("cpu", enabled=False, cache_enabled=False)
    yield torch.autograd.set_detect_anomaly(False)
    yield _set(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, False
    )
    yield _set(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest")
    yield one_thread()


@contextlib.contextmanager
def _set(get: Callable[[], Any], put: Callable[[Any], object], value: Any) -> Iterator[None]:
    """A setting with another value for the duration of the block."""
    before = get()
    # some take far longer to be set than to be asked
    if before != value:
        put(value)
    try:
        yield
    finally:
        if get() != before:
            put(before)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread for its duration: what is timed must not depend on the machine's cores."""
    torch = loaded()
    if torch is None:
        yield
        return
    with _set(torch.get_num_threads, torch.set_num_threads, 1):
        yield
