"""What happened to tensors that need gradients, and the way back."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .refusals import refuse, refuse_if

# how many in-place changes a tensor's memory has seen, shared by all tensors on the same memory; a second entry
# forbids more of them
Counter = list[int]
_enabled = True
_serials = itertools.count()


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    return _enabled


class _Mode(contextlib.ContextDecorator):
    def __init__(self, on: bool) -> None:
        self._on = on
        self._before: list[bool] = []

    def __enter__(self) -> None:
        global _enabled
        self._before.append(_enabled)
        _enabled = self._on

    def __exit__(self, *error: Any) -> None:
        global _enabled
        _enabled = self._before.pop()


def _switch(on: bool) -> Callable[..., Any]:
    """For a block, or around a function."""
    return lambda function=None: _Mode(on)(function) if function else _Mode(on)


no_grad, enable_grad = _switch(False), _switch(True)


def inference_mode(mode: bool = True) -> contextlib.AbstractContextManager:
    """The mode switched off, as checks do it; on it isn't offered."""
    return refuse("torch.inference_mode") if mode else contextlib.nullcontext()


@dataclass(eq=False)
class Edge:
    """From an operation back to one of its arguments. gradient: of the argument, from the result's."""

    node: Node
    gradient: Callable[[np.ndarray], np.ndarray]
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(eq=False)
class Node:
    """An operation, or a tensor that needs gradients and comes from none.

    saved: of each tensor that a gradient is computed from, the counter and where it stood; leaf: a tensor that
    comes from none.
    """

    edges: Sequence[Edge] = ()
    saved: list[tuple[Counter, int]] = field(default_factory=list)
    released: bool = False
    leaf: Callable[[], Any] | None = None
    serial: int = field(default_factory=lambda: next(_serials))

    def backward(self, gradient: np.ndarray) -> Iterator[tuple[Node, np.ndarray]]:
        """The gradients of its arguments."""
        refuse_if(self.released, "a second way back through the same operations")
        if any(counter[0] != then for counter, then in self.saved):
            refuse("a gradient through a tensor that was changed in place")
        for edge in self.edges:
            found = np.asarray(edge.gradient(gradient))
            yield edge.node, summed_to(found, edge.shape).astype(edge.dtype, copy=False)


def summed_to(gradient: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient of what was broadcast from a shape."""
    if gradient.shape == shape:
        return gradient
    extra = gradient.ndim - len(shape)
    axes = [n for n in range(gradient.ndim) if n < extra or shape[n - extra] < gradient.shape[n]]
    return gradient.sum(axis=tuple(axes), keepdims=True).reshape(shape)


def gradients(start: Node, first: np.ndarray, retain: bool = False) -> dict[Node, np.ndarray]:
    """The gradients of all that an operation comes from, by node. retain: another way back may follow."""
    reached, stack = {start}, [start]
    while stack:
        new = {edge.node for edge in stack.pop().edges} - reached
        reached |= new
        stack += new
    found = {start: first}
    # what an operation comes from was made before it
    for node in sorted(reached, key=lambda one: one.serial, reverse=True):
        for other, gradient in node.backward(found[node]):
            found[other] = found[other] + gradient if other in found else gradient
        node.released = bool(node.edges) and not retain
    return found
