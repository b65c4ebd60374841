"""Operations along axes beside those of operations.py: means, running sums, orders."""

from __future__ import annotations

import collections
from typing import Any, cast

import numpy as np

from . import dtypes
from .dtypes import DType, int64
from .operations import FUNCTIONS, as_array, axes_of, only_function, operation, spread
from .refusals import refuse, torch_error
from .tensor import RESULT, Tensor, axis_of, contiguous_tensor, record

_Sorted = cast(Any, collections.namedtuple("sort", ["values", "indices"]))


@operation
def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    kind = dtype or input.dtype
    if not kind.is_floating_point:
        raise torch_error(
            RuntimeError,
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
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: int | None = None,
) -> Tensor:
    if not input.is_floating_point() or isinstance(dim, bool):
        refuse("torch.var with these arguments")
    axes, x = axes_of(dim, input.ndim), input._array
    less = int(unbiased) if correction is None else correction
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=np.int64)) - less
    if count <= 0:
        refuse("the variance of so few numbers")
    away = x - x.mean(axis=axes, keepdims=True)
    found = np.square(away).sum(axis=axes, keepdims=keepdim) / count

    def gradient(g: np.ndarray) -> np.ndarray:
        return spread(g, axes, keepdim) * away * (2 / count)

    return record(contiguous_tensor(found.astype(x.dtype)), [(input, gradient, [input])])


@operation
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    correction: int | None = None,
) -> Tensor:
    found = var(input, dim, unbiased, keepdim, correction)
    if not found._array.all() and found.requires_grad:
        refuse("the gradient of a deviation of 0")
    return FUNCTIONS["sqrt"](found)


@operation
def norm(input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    if not input.is_floating_point() or p != 2:
        refuse("torch.norm with these arguments")
    axes, x = axes_of(dim, input.ndim), input._array
    r = np.sqrt(np.square(x).sum(axis=axes, keepdims=True))

    def gradient(g: np.ndarray) -> np.ndarray:
        return spread(g, axes, keepdim) * np.where(r == 0, 0, x / np.where(r == 0, 1, r))

    found = contiguous_tensor(r if keepdim else r.squeeze(axes))
    return record(found, [(input, gradient, [input, RESULT])])


@operation
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    if input.requires_grad:
        refuse("the gradient of torch.prod")
    kind = input.dtype if input.is_floating_point() else int64
    axes = axes_of(dim, input.ndim)
    return contiguous_tensor(as_array(input, kind).prod(axis=axes, keepdims=keepdim))


@operation
def cumsum(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    kind = dtype or (input.dtype if input.is_floating_point() else int64)
    axis = axis_of(dim, input.ndim)
    if input.ndim == 0:
        refuse("torch.cumsum of a single number")
    found = contiguous_tensor(
        np.cumsum(as_array(input, kind), axis=axis), input._array.flags.c_contiguous
    )

    def gradient(g: np.ndarray) -> np.ndarray:
        return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)

    return record(found, [(input, gradient, ())])


@operation
def cumprod(input: Tensor, dim: int) -> Tensor:
    axis = axis_of(dim, input.ndim)
    if input.ndim == 0 or input.requires_grad:
        refuse("torch.cumprod of this tensor")
    kind = input.dtype if input.is_floating_point() else int64
    found = np.cumprod(as_array(input, kind), axis=axis)
    return contiguous_tensor(found, input._array.flags.c_contiguous)


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
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    axis, x = axis_of(dim, input.ndim), input._array
    if np.isnan(x).any() or input.ndim == 0 or input.dtype is dtypes.bool_:
        refuse("torch.sort of such numbers")
    places = np.argsort(-x if descending else x, axis=axis, kind="stable").astype(np.int64)
    values = np.take_along_axis(x, places, axis)
    apart = np.diff(values, axis=axis)
    if not stable and not apart.all():
        refuse("an order of equal numbers")

    def gradient(g: np.ndarray) -> np.ndarray:
        back = np.zeros(x.shape, dtype=g.dtype)
        np.put_along_axis(back, places, g, axis)
        return back

    regular = x.flags.c_contiguous
    indices = contiguous_tensor(places, regular)
    return _Sorted(record(contiguous_tensor(values, regular), [(input, gradient, ())]), indices)


@operation
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    return sort(input, dim, descending, stable).indices


@operation
def topk(input: Tensor, k: int, dim: int = -1) -> Any:
    values, indices = sort(input, dim, descending=True)
    kept = (slice(None),) * axis_of(dim, input.ndim) + (slice(k),)
    return _Sorted(values[kept].contiguous(), indices[kept].contiguous())


@operation
def unique(input: Tensor, return_counts: bool = False) -> Any:
    x = input._array
    if input.dtype.is_half or np.isnan(x).any():
        refuse("torch.unique of such numbers")
    found, counts = np.unique(x, return_counts=True)
    no_way = lambda g: refuse("the gradient of torch.unique")
    made = record(contiguous_tensor(found), [(input, no_way, ())])
    return (made, contiguous_tensor(counts.astype(np.int64))) if return_counts else made


@only_function
def searchsorted(sorted_sequence: Tensor, input: Tensor, right: bool = False) -> Tensor:
    if sorted_sequence.ndim != 1 or not isinstance(input, Tensor):
        refuse("torch.searchsorted of these tensors")
    side = "right" if right else "left"
    found = np.searchsorted(sorted_sequence._array, input._array, side=side)
    return contiguous_tensor(np.asarray(found, dtype=np.int64))


@operation
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    axes = axes_of(dim, input.ndim)
    return contiguous_tensor(np.count_nonzero(input._array, axis=axes) + np.zeros((), np.int64))


@operation
def median(input: Tensor) -> Tensor:
    x = np.sort(input._array.reshape(-1))
    if input.requires_grad or np.isnan(x).any():
        refuse("torch.median of such numbers")
    return contiguous_tensor(x[(len(x) - 1) // 2])
