"""`torch.autograd`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import numpy as np

from . import graph
from .graph import enable_grad, inference_mode, no_grad
from .refusals import Names, lacks, offered, refuse, refuse_if
from .tensor import Tensor, start_of, wrap

__all__ = ["enable_grad", "grad", "inference_mode", "no_grad", "set_detect_anomaly"]
__getattr__ = lacks("torch.autograd")


@offered
def grad(
    outputs: Tensor, inputs: Tensor | Sequence[Tensor], *, allow_unused: bool = False
) -> tuple[Tensor | None, ...]:
    """The gradients of a number with respect to tensors, in their order."""
    refuse_if(outputs.ndim, "the gradient of more than a number")
    targets = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    nodes = [start_of(target) for target in targets]
    found = graph.gradients(start_of(outputs), np.ones_like(outputs._array))
    if not allow_unused and any(node not in found for node in nodes):
        refuse("the gradient with respect to a tensor that isn't used")
    return tuple(wrap(found[node].copy()) if node in found else None for node in nodes)


def jacobian(func: Callable, inputs: Tensor) -> Tensor:
    """The derivatives of all entries of a result with respect to all entries of a tensor."""
    x = wrap(inputs._array).requires_grad_()
    with enable_grad():
        result = func(x)
    return offered(_jacobian)(x, result)


def _jacobian(x: Tensor, result: Tensor) -> Tensor:
    found = np.zeros((result.numel(), *x.shape), dtype=x._array.dtype)
    if result.requires_grad:
        for number, row in enumerate(found):
            first = np.zeros(result.numel(), dtype=result._array.dtype)
            first[number] = 1
            shaped = first.reshape(result.shape)
            held = graph.gradients(start_of(result), shaped, retain=True)
            row[...] = held.get(start_of(x), 0)
    return wrap(found.reshape(*result.shape, *x.shape))


functional = Names(jacobian=jacobian)


def set_detect_anomaly(mode: bool, check_nan: bool = True) -> contextlib.AbstractContextManager:
    """Anomaly detection switched off, as checks do it; on it isn't offered."""
    return refuse("torch.autograd.set_detect_anomaly") if mode else contextlib.nullcontext()
