"""Operations along axes: sums and their like, softmax, orders."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from . import dtypes
from .dtypes import DType, int64
from .operations import FUNCTIONS, as_array, axes_of, only_function, operation, spread
from .refusals import refuse, refuse_if, torch_raises
from .tensor import RESULT, Tensor, axis_of, computed, contiguous_tensor, record

MISSING: Any = object()


def _length(x: np.ndarray, **along: Any) -> np.ndarray:
    return np.sqrt(np.square(x).sum(**along))


def _log_of_sum(x: np.ndarray, **along: Any) -> np.ndarray:
    largest = x.max(**along)
    largest = np.where(np.isinf(largest), x.dtype.type(0), largest)
    return np.log(np.exp(x - largest).sum(**along)) + largest


def _to_best(g: np.ndarray, x: np.ndarray, r: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return g * (x == r) / (x == r).sum(axis=axes, keepdims=True)


# by name: the result, and the gradient from (g, x, result, axes), where the axes have size 1
REDUCTIONS: dict[str, tuple[Callable, Callable]] = {
    "sum": (np.sum, lambda g, x, r, axes: np.broadcast_to(g, x.shape)),
    "mean": (np.mean, lambda g, x, r, axes: np.broadcast_to(g, x.shape) / (x.size / r.size)),
    "amax": (np.max, _to_best),
    "amin": (np.min, _to_best),
    "logsumexp": (_log_of_sum, lambda g, x, r, axes: g * np.exp(x - r)),
    "norm": (
        *(_length, lambda g, x, r, axes: g * np.where(r == 0, 0, x / np.where(r == 0, 1, r))),
    ),
}


def _kind_of_sum(name: str, input: Tensor, dtype: DType | None) -> DType:
    kind = dtype or (int64 if name == "sum" and not input.is_floating_point() else input.dtype)
    if name == "mean" and not kind.is_floating_point:
        torch_raises(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {kind.word}"
        )
    odd = name in ("norm", "logsumexp") and not kind.is_floating_point
    refuse_if(odd or (dtype and name not in ("sum", "mean")), f"torch.{name} of such numbers")
    return kind


def _reduction(name: str, compute: Callable, gradient: Callable) -> None:
    def function(
        input: Tensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None
    ) -> Tensor:
        refuse_if(name == "logsumexp" and dim is None, "torch.logsumexp without an axis")
        axes = axes_of(dim, input.ndim)
        x = as_array(input, _kind_of_sum(name, input, dtype))
        r = compute(x, axis=axes, keepdims=True)
        needs = [] if name in ("sum", "mean") else [input, RESULT]
        back = lambda g: gradient(spread(g, axes, keepdim), x, r, axes)
        return computed(r if keepdim else r.squeeze(axes), input, back, needs)

    def norm(input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
        refuse_if(p != 2, "torch.norm with these arguments")
        return function(input, dim, keepdim)

    operation(norm if name == "norm" else function, name)


def _whether(name: str, compute: Callable) -> None:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        axes = axes_of(dim, input.ndim)
        return contiguous_tensor(compute(input._array != 0, axis=axes, keepdims=keepdim))

    operation(function, name)


_Chosen = cast(Any, collections.namedtuple("max", ["values", "indices"]))


def _best(name: str, choose: Callable) -> None:
    def function(input: Tensor, dim: Any = MISSING, keepdim: bool = False) -> Any:
        x = input._array
        if isinstance(dim, Tensor):
            return FUNCTIONS[f"{name}imum"](input, dim)
        if dim is MISSING:
            refuse_if(keepdim or np.isnan(x).any(), f"torch.{name} with these arguments")
            return FUNCTIONS[f"a{name}"](input)
        axis = axis_of(dim, input.ndim)
        refuse_if(input.ndim == 0, f"torch.{name} of a single number along an axis")
        places = choose(x, axis=axis, keepdims=True).astype(np.int64)
        parts = np.take_along_axis(x, places, axis), places

        def gradient(g: np.ndarray) -> np.ndarray:
            back = np.zeros(x.shape, dtype=g.dtype)
            np.put_along_axis(back, places, spread(g, (axis,), keepdim), axis)
            return back

        found, indices = (contiguous_tensor(p if keepdim else p.squeeze(axis)) for p in parts)
        return _Chosen(record(found, [(input, gradient, [indices])]), indices)

    operation(function, name)


def _soft(name: str, compute: Callable, gradient: Callable) -> None:
    """compute: from the numbers, the largest of which is 0; gradient: from (g, result, what sums)."""

    def function(input: Tensor, dim: Any = MISSING, dtype: DType | None = None) -> Tensor:
        if dim is MISSING:
            torch_raises(f'{name}() missing 1 required positional arguments: "dim"', TypeError)
        kind = dtype or input.dtype
        usual = isinstance(dim, int) and not isinstance(dim, bool)
        if not usual or not kind.is_floating_point or input.ndim == 0:
            refuse(f"torch.{name} with these arguments")
        x, axis = as_array(input, kind), axis_of(dim, input.ndim)
        total = lambda x: x.sum(axis=axis, keepdims=True)
        r = compute(x - x.max(axis=axis, keepdims=True), total)
        return computed(r, input, lambda g: gradient(g, r, total), [RESULT])

    operation(function, name)


def _exponentials(x: np.ndarray, total: Callable) -> np.ndarray:
    e = np.exp(x)
    return e / total(e)


_soft("softmax", _exponentials, lambda g, r, total: g * r - r * total(g * r))
_soft(
    "log_softmax",
    lambda x, total: x - np.log(total(np.exp(x))),
    lambda g, r, total: g - np.exp(r) * total(g),
)
for _name, _parts in REDUCTIONS.items():
    _reduction(_name, *_parts)
_whether("all", np.all)
_whether("any", np.any)
_best("max", np.argmax)
_best("min", np.argmin)


@operation
def cumsum(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    kind = dtype or (input.dtype if input.is_floating_point() else int64)
    axis = axis_of(dim, input.ndim)
    refuse_if(input.ndim == 0, "torch.cumsum of a single number")
    found, regular = np.cumsum(as_array(input, kind), axis), input._array.flags.c_contiguous
    back = lambda g: np.flip(np.cumsum(np.flip(g, axis), axis), axis)
    return computed(found, input, back, (), regular)


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
    made = computed(found, input, no_way)
    return (made, contiguous_tensor(counts.astype(np.int64))) if return_counts else made


@only_function
def searchsorted(sorted_sequence: Tensor, input: Tensor, right: bool = False) -> Tensor:
    if sorted_sequence.ndim != 1 or not isinstance(input, Tensor):
        refuse("torch.searchsorted of these tensors")
    side: Any = "right" if right else "left"
    found = np.searchsorted(sorted_sequence._array, input._array, side=side)
    return contiguous_tensor(np.asarray(found, dtype=np.int64))
