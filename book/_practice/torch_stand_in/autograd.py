"""`torch.autograd`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np

from . import graph
from .graph import enable_grad, inference_mode, no_grad
from .refusals import lacks, offered, refuse
from .tensor import Tensor, start_of, wrap

__all__ = ["enable_grad", "grad", "inference_mode", "no_grad", "set_detect_anomaly"]
__getattr__ = lacks("torch.autograd")


@offered
def grad(
    outputs: Tensor, inputs: Tensor | Sequence[Tensor], *, allow_unused: bool = False
) -> tuple[Tensor | None, ...]:
    """The gradients of a number with respect to tensors, in their order."""
    if outputs.ndim:
        refuse("the gradient of more than a number")
    targets = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    nodes = [start_of(target) for target in targets]
    found = graph.gradients(start_of(outputs), np.ones_like(outputs._array))
    if not allow_unused and any(node not in found for node in nodes):
        refuse("the gradient with respect to a tensor that isn't used")
    return tuple(wrap(found[node].copy()) if node in found else None for node in nodes)


def set_detect_anomaly(mode: bool, check_nan: bool = True) -> contextlib.AbstractContextManager:
    """Anomaly detection switched off, as checks do it; on it isn't offered."""
    return refuse("torch.autograd.set_detect_anomaly") if mode else contextlib.nullcontext()
