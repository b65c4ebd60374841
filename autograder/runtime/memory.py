"""A limit of the memory that evaluating one expression may take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .helpers import Unusable
from .torch_internals import tensor_memory

# a part of what PyTorch's RuntimeError says when the system has given it no memory
NO_MEMORY = "can't allocate memory"


@contextlib.contextmanager
def limited_memory(megabytes: int | None, counted: bool) -> Iterator[None]:
    """Raise Unusable when what is computed needs more memory; None = as much as there is.

    counted: count tensors here; otherwise this process is limited from outside, and that counts all.
    """
    if megabytes is None:
        yield
        return
    try:
        with tensor_memory(megabytes * 1_000_000) if counted else contextlib.nullcontext():
            yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or NO_MEMORY in str(error):
            told = f"your code needs more than {megabytes} MB of memory, all that this check allows"
            raise Unusable(told).with_traceback(error.__traceback__) from None
        raise
