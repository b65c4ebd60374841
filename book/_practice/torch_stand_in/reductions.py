"""Operations along axes beside those of operations.py: means, running sums, orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .dtypes import DType, int64
from .operations import as_array, axes_of, only_function, operation, spread
from .refusals import refuse, refuse_if, torch_raises
from .tensor import RESULT, Tensor, axis_of, contiguous_tensor, record


@operation
def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    kind = dtype or input.dtype
    if not kind.is_floating_point:
        torch_raises(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {kind.word}",
        )
    axes, shape = axes_of(dim, input.ndim), input._array.shape
    count = int(np.prod([shape[axis] for axis in axes], dtype=np.int64))
    found = as_array(input, kind).mean(axis=axes, keepdims=keepdim)

    def gradient(g: np.ndarray) -> np.ndarray:
        return np.broadcast_to(spread(g, axes, keepdim), shape) / count

    return record(contiguous_tensor(found), [(input, gradient, ())])


@operation
def norm(input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    refuse_if(not input.is_floating_point() or p != 2, "torch.norm with these arguments")
    axes, x = axes_of(dim, input.ndim), input._array
    r = np.sqrt(np.square(x).sum(axis=axes, keepdims=True))

    def gradient(g: np.ndarray) -> np.ndarray:
        return spread(g, axes, keepdim) * np.where(r == 0, 0, x / np.where(r == 0, 1, r))

    found = contiguous_tensor(r if keepdim else r.squeeze(axes))
    return record(found, [(input, gradient, [input, RESULT])])


@operation
def cumsum(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    kind = dtype or (input.dtype if input.is_floating_point() else int64)
    axis = axis_of(dim, input.ndim)
    refuse_if(input.ndim == 0, "torch.cumsum of a single number")
    found = contiguous_tensor(
        np.cumsum(as_array(input, kind), axis=axis), input._array.flags.c_contiguous
    )

    def gradient(g: np.ndarray) -> np.ndarray:
        return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)

    return record(found, [(input, gradient, ())])


def _place(name: str, compute: Any) -> None:
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        if input.dtype is dtypes.bool_ or (dim is None and keepdim):
            refuse(f"torch.{name} with these arguments")
        x = input._array.reshape(-1) if dim is None else input._array
        axis = 0 if dim is None else axis_of(dim, input.ndim)
        found = compute(x, axis=axis, keepdims=keepdim and dim is not None)
        return contiguous_tensor(np.asarray(found, dtype=np.int64))

    operation(function, name)


_place("argmax", np.argmax)
_place("argmin", np.argmin)


@operation
def unique(input: Tensor, return_counts: bool = False) -> Any:
    x = input._array
    refuse_if(input.dtype.is_half, "torch.unique of such numbers")
    found, counts = np.unique(x, return_counts=True, equal_nan=False)
    no_way = lambda g: refuse("the gradient of torch.unique")
    made = record(contiguous_tensor(found), [(input, no_way, ())])
    return (made, contiguous_tensor(counts.astype(np.int64))) if return_counts else made


@only_function
def searchsorted(sorted_sequence: Tensor, input: Tensor, right: bool = False) -> Tensor:
    if sorted_sequence.ndim != 1 or not isinstance(input, Tensor):
        refuse("torch.searchsorted of these tensors")
    side: Any = "right" if right else "left"
    found = np.searchsorted(sorted_sequence._array, input._array, side=side)
    return contiguous_tensor(np.asarray(found, dtype=np.int64))
