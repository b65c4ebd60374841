"""`torch.nn.functional`, which `torch.nn` gives its name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import DType, bool_, cast, int64
from .inert import replaced
from .operations import FUNCTIONS
from .random import kept
from .refusals import lacks, offered, refuse, refuse_if, torch_raises
from .shapes import back_at
from .tensor import Tensor, computed, contiguous_tensor, laid_out, record

__getattr__ = lacks("torch.nn.functional")
relu, tanh, sigmoid = (FUNCTIONS[name] for name in ("relu", "tanh", "sigmoid"))


def _of_functional(name: str) -> Callable:
    """The same without NumPy's names of arguments, which refuse."""

    def call(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
        return FUNCTIONS[name](input, dim, dtype)

    return call


softmax, log_softmax = map(_of_functional, ("softmax", "log_softmax"))


@offered
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    x, w = input._array, weight._array
    if x.ndim == 0 or w.ndim != 2 or input.dtype.is_half or weight.dtype is bool_:
        refuse("torch.nn.functional.linear of such tensors")
    if x.shape[-1] != w.shape[1]:
        shapes = f"({math.prod(x.shape[:-1])}x{x.shape[-1]} and {w.shape[1]}x{w.shape[0]})"
        torch_raises(f"mat1 and mat2 shapes cannot be multiplied {shapes}")
    if input.dtype is not weight.dtype:
        words = f"{input.dtype.word} and {weight.dtype.word}"
        floats = input.is_floating_point() and weight.is_floating_point()
        if x.ndim == 1 or not floats or not x.flags.c_contiguous:
            refuse("a layer of such a vector or data type")
        told = f"mat1 and mat2 must have the same dtype, but got {words}"
        if bias is None:
            names = f"{input.dtype.word.lower()} != {weight.dtype.word.lower()}"
            told = f"expected m1 and m2 to have the same dtype, but got: {names}"
        torch_raises(told)
    found = contiguous_tensor(x @ w.T)

    def for_weight(g: np.ndarray) -> np.ndarray:
        return g.reshape(-1, w.shape[0]).T @ x.reshape(-1, w.shape[1])

    product = record(found, [(input, lambda g: g @ w, [weight]), (weight, for_weight, [input])])
    return product if bias is None else FUNCTIONS["add"](product, bias)


@offered
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not 0 <= p <= 1:
        torch_raises(f"dropout probability has to be between 0 and 1, but got {p}", ValueError)
    if inplace or (training and not input.is_floating_point()):
        refuse("torch.nn.functional.dropout with these arguments")
    if not training or p == 0:
        return input
    x = input._array
    scale = cast(kept(x, 1 - p) / (1 - p) if p < 1 else np.zeros(x.shape), input.dtype)
    made = laid_out(cast(x * scale, input.dtype), input)
    return record(made, [(input, lambda g: g * scale, ())])


@offered
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    sizes, x = tuple(normalized_shape), input._array
    if not input.is_floating_point() or input.dtype.is_half or not sizes:
        refuse("torch.nn.functional.layer_norm of such numbers")
    if x.shape[x.ndim - len(sizes) :] != sizes:
        star = ", ".join(map(str, sizes))
        torch_raises(
            f"Given normalized_shape={list(sizes)}, expected input with shape [*, {star}], but got input of "
            f"size{list(x.shape)}"
        )
    if any(one is not None and one.dtype is not input.dtype for one in (weight, bias)):
        refuse("torch.nn.functional.layer_norm of two data types")
    axes = tuple(range(x.ndim - len(sizes), x.ndim))
    away = x - x.mean(axis=axes, keepdims=True)
    scale = 1 / np.sqrt(np.square(away).mean(axis=axes, keepdims=True) + x.dtype.type(eps))
    normal = away * scale

    def gradient(g: np.ndarray) -> np.ndarray:
        part = g - g.mean(axis=axes, keepdims=True)
        return scale * (part - normal * (g * normal).mean(axis=axes, keepdims=True))

    found = computed(normal, input, gradient, [input])
    found = found if weight is None else FUNCTIONS["mul"](found, weight)
    return found if bias is None else FUNCTIONS["add"](found, bias)


@offered
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    if input.dtype is not int64 or (input._array < 0).any():
        refuse("torch.nn.functional.embedding of such numbers")
    if (input._array >= len(weight._array)).any():
        torch_raises("index out of range in self", IndexError)
    places, back = input._array, back_at(weight._array.shape, input._array)
    learned = np.arange(len(weight._array))[:, None] != padding_idx
    gradient = lambda g: np.where(learned, back(g), 0)
    return computed(weight._array[places], weight, gradient, [input])


@offered
def nll_loss(
    input: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    x, places = input._array, target._array
    if input.ndim != 2 or target.ndim != 1 or target.dtype is not int64 or len(x) != len(places):
        refuse("a loss of such shapes or data types")
    counts = places != ignore_index
    inside = np.where(counts, places, 0)
    if (outside := inside[(inside < 0) | (inside >= x.shape[1])]).size:
        torch_raises(f"Target {outside[0]} is out of bounds.", IndexError)
    rows, n = np.arange(len(x)), counts.sum()
    losses = np.where(counts, -x[rows, inside], x.dtype.type(0))
    whole = losses.sum()
    made = {"none": losses, "sum": whole, "mean": whole / n.astype(x.dtype)}[reduction]

    def gradient(g: np.ndarray) -> np.ndarray:
        back = np.zeros(x.shape, dtype=x.dtype)
        share = g / n if reduction == "mean" else g
        back[rows, inside] = np.where(counts, -share, 0)
        return back

    return computed(np.asarray(made, dtype=x.dtype), input, gradient, [target])


@offered
def cross_entropy(
    input: Tensor,
    target: Tensor,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    if label_smoothing or not input.is_floating_point() or target.is_floating_point():
        refuse("torch.nn.functional.cross_entropy of these arguments")
    if input.ndim > 2:
        shape, classes = target.shape, input.shape[1]
        refuse_if(input.shape[:1] + input.shape[2:] != shape, "a loss of such shapes or data types")
        rows = input.movedim(1, -1).reshape(-1, classes)
        found = cross_entropy(
            rows, target.reshape(-1), ignore_index=ignore_index, reduction=reduction
        )
        return found.reshape(shape) if reduction == "none" else found
    if input.ndim == 1:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
        if reduction == "none":
            refuse("torch.nn.functional.cross_entropy of one example without a mean")
    return nll_loss(
        log_softmax(input, dim=-1), target, ignore_index=ignore_index, reduction=reduction
    )


@offered
def one_hot(input: Tensor, num_classes: int) -> Tensor:
    return contiguous_tensor(np.eye(num_classes, dtype=np.int64)[input._array])


def scaled_dot_product_attention(*arguments: Any, **named: Any) -> None:
    """What exercise 2 asks for: checks forbid it, and it isn't offered."""
    if forbidden := replaced.get("scaled_dot_product_attention"):
        forbidden(*arguments, **named)
    refuse("torch.nn.functional.scaled_dot_product_attention")


def multi_head_attention_forward(*arguments: Any, **named: Any) -> None:
    """Checks forbid it, and it isn't offered."""
    refuse("torch.nn.functional.multi_head_attention_forward")
