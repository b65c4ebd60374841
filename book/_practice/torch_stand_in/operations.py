"""The operations: functions of torch, most of which are methods of tensors, too.

Each gives `record` its result, and for each argument the gradient with respect to it.
"""

from __future__ import annotations

import builtins
import collections
import math
import string
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from . import dtypes
from .dtypes import DType, bool_, float32, int64, of_number
from .refusals import offered, refuse, torch_error
from .tensor import (
    RESULT,
    Argument,
    Tensor,
    axis_of,
    broadcast_shape,
    contiguous_tensor,
    laid_out,
    record,
)

MISSING = object()
FUNCTIONS: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {}


def only_function(function: Callable, name: str = "") -> Callable:
    """A function of torch that is no method; name: if it isn't its own."""
    function.__name__ = name or function.__name__
    made = FUNCTIONS[function.__name__] = offered(function)
    return made


def method(function: Callable, name: str = "") -> Callable:
    """A method of tensors that is no function."""
    function.__name__ = name or function.__name__
    made = METHODS[function.__name__] = offered(function)
    return made


def operation(function: Callable, name: str = "") -> Callable:
    """A function that is a method, too."""
    made = METHODS[name or function.__name__] = only_function(function, name)
    return made


# elementwise


def common(*values: Any) -> tuple[DType, list[np.ndarray]]:
    """What tensors and numbers are computed in, and all of them in it."""
    tensors = [one for one in values if isinstance(one, Tensor)]
    whole = [one.dtype for one in tensors if one.ndim]
    single = [one.dtype for one in tensors if not one.ndim]
    numbers = [of_number(one) for one in values if not isinstance(one, Tensor)]
    kind = dtypes.promoted(whole, single, numbers)
    broadcast_shape([one.shape for one in tensors])
    return kind, [as_array(one, kind) for one in values]


def as_array(value: Any, kind: DType) -> np.ndarray:
    """A tensor's or number's array in a data type."""
    array = value._array if isinstance(value, Tensor) else np.asarray(value)
    return array.astype(kind.numpy, copy=False)


def fitting(value: Any, kind: DType) -> np.ndarray:
    """What is written into numbers of a data type."""
    given = value.dtype if isinstance(value, Tensor) else of_number(value)
    found = as_array(value, kind)
    too_large = not isinstance(value, Tensor) and np.isinf(found) and not math.isinf(value)
    if kind.category < given.category or too_large:
        refuse(f"such a number in a tensor of {kind}")
    return found


def floats(kind: DType) -> DType:
    """The data type that an operation on floats gives."""
    return kind if kind.is_floating_point else float32


# by name: the result, the gradient from (g, x, result), and which of these it needs
UNARY: dict[str, tuple[Callable, Callable, str]] = {
    "exp": (np.exp, lambda g, x, r: g * r, "r"),
    "log": (np.log, lambda g, x, r: g / x, "x"),
    "sqrt": (np.sqrt, lambda g, x, r: g / (2 * r), "r"),
    "reciprocal": (lambda x: 1 / x, lambda g, x, r: -g * (r * r), "r"),
    "cos": (np.cos, lambda g, x, r: g * -np.sin(x), "x"),
    "abs": (np.abs, lambda g, x, r: g * np.sign(np.nan_to_num(x)), "x"),
    "neg": (np.negative, lambda g, x, r: -g, ""),
}


def _unary(name: str, compute: Callable, gradient: Callable, needs: str) -> None:
    def function(input: Tensor) -> Tensor:
        kind = input.dtype if name in ("abs", "neg") else floats(input.dtype)
        if kind is bool_:
            refuse(f"torch.{name} of booleans")
        x = as_array(input, kind)
        found = laid_out(compute(x), input)
        r = found._array
        kept = [RESULT if needs == "r" else input] if needs else []
        return record(found, [(input, lambda g: gradient(g, x, r), kept)])

    operation(function, name)


for _name, _parts in UNARY.items():
    _unary(_name, *_parts)


def _binary(name: str, compute: Callable, to_floats: bool, arguments: Callable) -> None:
    """arguments: from (a, b, input, other), their arrays and themselves, the arguments of `record`."""

    def function(input: Any, other: Any) -> Tensor:
        kind, (a, b) = common(input, other)
        if to_floats and not kind.is_floating_point:
            a, b = a.astype(float32.numpy), b.astype(float32.numpy)
        return record(laid_out(compute(a, b), input, other), arguments(a, b, input, other))

    operation(function, name)


_binary("add", np.add, False, lambda a, b, x, y: [(x, lambda g: g, ()), (y, lambda g: g, ())])
_binary(
    "mul",
    np.multiply,
    False,
    lambda a, b, x, y: [(x, lambda g: g * b, [y]), (y, lambda g: g * a, [x])],
)
_binary(
    "div",
    np.divide,
    True,
    lambda a, b, x, y: [(x, lambda g: g / b, [y]), (y, lambda g: -g * ((a / b) / b), [x, y])],
)


@operation
def sub(input: Any, other: Any) -> Tensor:
    kinds = [one.dtype if isinstance(one, Tensor) else of_number(one) for one in (input, other)]
    if kinds == [bool_, bool_]:
        refuse("the difference of booleans")
    if bool_ in kinds:
        raise torch_error(
            RuntimeError,
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead.",
        )
    _, (a, b) = common(input, other)
    found = laid_out(a - b, input, other)
    return record(found, [(input, lambda g: g, ()), (other, lambda g: -g, ())])


@operation
def where(condition: Tensor, input: Any, other: Any) -> Tensor:
    if condition.dtype is not bool_:
        refuse("torch.where with a condition that isn't boolean")
    _, (a, b) = common(input, other)
    chosen = condition._array
    broadcast_shape([chosen.shape, a.shape, b.shape])
    found = laid_out(np.where(chosen, a, b), condition, input, other)
    for_input: Argument = (input, lambda g: np.where(chosen, g, 0), [condition])
    return record(found, [for_input, (other, lambda g: np.where(chosen, 0, g), [condition])])


@operation
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    broadcast_shape([mask.shape, input.shape])
    if mask.dtype is not bool_ or (isinstance(value, Tensor) and value.ndim):
        refuse("tensor.masked_fill with such a mask or value")
    hidden = mask._array
    found = laid_out(np.where(hidden, fitting(value, input.dtype), input._array), input, mask)
    for_input: Argument = (input, lambda g: np.where(hidden, 0, g), [mask])
    return record(found, [for_input, (value, lambda g: np.where(hidden, g, 0).sum(), [mask])])


@operation
def clamp(input: Tensor, min: float) -> Tensor:
    _, (x, low) = common(input, min)
    if isinstance(min, Tensor):
        refuse("torch.clamp with a tensor as its bound")
    found = laid_out(np.where(x < low, low, x), input)
    return record(found, [(input, lambda g: np.where(x >= low, g, 0), [input])])


@operation
def nan_to_num(input: Tensor, nan: float = 0.0) -> Tensor:
    if not input.is_floating_point():
        refuse("torch.nan_to_num of integers")
    x = input._array
    found = laid_out(np.nan_to_num(x, nan=nan), input)
    return record(found, [(input, lambda g: g * np.isfinite(x), [input])])


def _compare(name: str, compute: Callable, of_booleans: bool) -> None:
    def function(input: Any, other: Any) -> Tensor:
        kind, (a, b) = common(input, other)
        if of_booleans and kind is not bool_:
            refuse(f"torch.{name} of numbers")
        return laid_out(compute(a, b), input, other)

    operation(function, name)


COMPARISONS: dict[str, Callable] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "bitwise_and": np.logical_and,
    "bitwise_or": np.logical_or,
    "bitwise_xor": np.logical_xor,
}
for _name, _compute in COMPARISONS.items():
    _compare(_name, _compute, _name.startswith("bitwise"))


@operation
def logical_not(input: Tensor) -> Tensor:
    return laid_out(np.logical_not(input._array), input)


@operation
def bitwise_not(input: Tensor) -> Tensor:
    if input.dtype is not bool_:
        refuse("torch.bitwise_not of numbers")
    return logical_not(input)


@operation
def isnan(input: Tensor) -> Tensor:
    return laid_out(np.isnan(input._array), input)


# along axes


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; all for None."""
    if dim is None:
        return tuple(range(ndim))
    found = tuple(axis_of(one, ndim) for one in ([dim] if isinstance(dim, int) else dim))
    if not found or len(set(found)) < len(found):
        refuse("these axes")
    return found if ndim else ()


def spread(g: np.ndarray, axes: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """The gradient of a reduction, with its axes put back in with size 1."""
    return g if keepdim else np.expand_dims(g, axes)


@operation
def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    kind = dtype or (input.dtype if input.is_floating_point() else int64)
    axes, shape = axes_of(dim, input.ndim), input._array.shape
    found = as_array(input, kind).sum(axis=axes, keepdims=keepdim, dtype=kind.numpy)

    def gradient(g: np.ndarray) -> np.ndarray:
        return np.broadcast_to(spread(g, axes, keepdim), shape)

    return record(contiguous_tensor(found), [(input, gradient, ())])


@operation
def amax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    axes, x = axes_of(dim, input.ndim), input._array
    r = x.max(axis=axes, keepdims=True)

    def gradient(g: np.ndarray) -> np.ndarray:
        best = x == r
        return (spread(g, axes, keepdim) * best) / best.sum(axis=axes, keepdims=True)

    found = contiguous_tensor(r if keepdim else r.squeeze(axes))
    return record(found, [(input, gradient, [input, RESULT])])


_Largest = cast(Any, collections.namedtuple("max", ["values", "indices"]))


@operation
def max(input: Tensor, dim: Any = MISSING, keepdim: bool = False) -> Any:
    x = input._array
    if dim is MISSING:
        if keepdim or np.isnan(x).any():
            refuse("torch.max with these arguments")
        return amax(input)
    axis = axis_of(dim, input.ndim)
    if input.ndim == 0:
        refuse("torch.max of a single number along an axis")
    places = np.argmax(x, axis=axis, keepdims=True).astype(np.int64)
    values = np.take_along_axis(x, places, axis)

    def gradient(g: np.ndarray) -> np.ndarray:
        back = np.zeros(x.shape, dtype=g.dtype)
        np.put_along_axis(back, places, spread(g, (axis,), keepdim), axis)
        return back

    found, indices = (
        contiguous_tensor(one if keepdim else one.squeeze(axis)) for one in (values, places)
    )
    return _Largest(record(found, [(input, gradient, [indices])]), indices)


def _whether(name: str, compute: Callable) -> None:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        axes = axes_of(dim, input.ndim)
        return contiguous_tensor(compute(input._array != 0, axis=axes, keepdims=keepdim))

    operation(function, name)


_whether("all", np.all)
_whether("any", np.any)


def _of_floats(input: Tensor, dim: Any, dtype: DType | None, name: str) -> tuple[np.ndarray, int]:
    """The numbers and the axis of a softmax."""
    if dim is MISSING:
        message = f'{name}() missing 1 required positional arguments: "dim"'
        raise torch_error(TypeError, message)
    kind = dtype or input.dtype
    usual = isinstance(dim, int) and not isinstance(dim, bool)
    if not usual or not kind.is_floating_point or input.ndim == 0:
        refuse(f"torch.{name} with these arguments")
    return as_array(input, kind), axis_of(dim, input.ndim)


@operation
def softmax(input: Tensor, dim: Any = MISSING, dtype: DType | None = None) -> Tensor:
    x, axis = _of_floats(input, dim, dtype, "softmax")
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    found = contiguous_tensor(e / e.sum(axis=axis, keepdims=True))
    r = found._array

    def gradient(g: np.ndarray) -> np.ndarray:
        return g * r - r * (g * r).sum(axis=axis, keepdims=True)

    return record(found, [(input, gradient, [RESULT])])


@operation
def log_softmax(input: Tensor, dim: Any = MISSING, dtype: DType | None = None) -> Tensor:
    x, axis = _of_floats(input, dim, dtype, "log_softmax")
    x = x - x.max(axis=axis, keepdims=True)
    found = contiguous_tensor(x - np.log(np.exp(x).sum(axis=axis, keepdims=True)))
    r = found._array

    def gradient(g: np.ndarray) -> np.ndarray:
        return g - np.exp(r) * g.sum(axis=axis, keepdims=True)

    return record(found, [(input, gradient, [RESULT])])


@operation
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    if not input.is_floating_point() or dim is None:
        refuse("torch.logsumexp with these arguments")
    x, axes = input._array, axes_of(dim, input.ndim)
    largest = x.max(axis=axes, keepdims=True)
    largest = np.where(np.isinf(largest), x.dtype.type(0), largest)
    r = np.log(np.exp(x - largest).sum(axis=axes, keepdims=True)) + largest
    found = contiguous_tensor(r if keepdim else r.squeeze(axes))
    return record(
        found, [(input, lambda g: spread(g, axes, keepdim) * np.exp(x - r), [input, RESULT])]
    )


# matrices


@operation
def matmul(input: Tensor, other: Tensor) -> Tensor:
    a, b = input._array, other._array
    if not (input.is_floating_point() and other.is_floating_point()) or min(a.ndim, b.ndim) < 2:
        refuse("a matrix product of such tensors")
    if a.shape[-1] != b.shape[-2] or a.dtype != b.dtype:
        raise _product_error(input, other)
    broadcast_shape([a.shape[:-2], b.shape[:-2]])
    found = contiguous_tensor(np.matmul(a, b), regular=min(a.ndim, b.ndim) > 2 or a.ndim == b.ndim)
    for_input: Argument = (input, lambda g: g @ b.swapaxes(-1, -2), [other])
    return record(found, [for_input, (other, lambda g: a.swapaxes(-1, -2) @ g, [input])])


def _product_error(input: Tensor, other: Tensor) -> Exception:
    """What torch says of sizes or data types that don't fit."""
    a, b = input._array, other._array
    (*leading, rows), (*_, columns, width) = a.shape[:-2] + a.shape[-1:], b.shape
    count = math.prod(broadcast_shape([leading, b.shape[:-2]]))
    # torch may multiply a stack by a matrix, or by a stack of one, as one tall matrix
    tall = a.shape[:-2] != b.shape[:-2] and 1 in (len(a), len(b)) and min(a.ndim, b.ndim) < 4
    if a.ndim != b.ndim or (tall and (input.requires_grad or other.requires_grad)):
        refuse("a matrix product of such shapes or data types")
    if rows == columns and a.ndim == 2:
        refuse("a product of matrices of two data types")
    if rows == columns:
        message = f"expected scalar type {input.dtype.word} but found {other.dtype.word}"
    elif a.ndim == 2:
        shapes = f"({len(a)}x{rows} and {columns}x{width})"
        message = f"mat1 and mat2 shapes cannot be multiplied {shapes}"
    else:
        sizes = f"{[count, rows]} but got: {[count, columns]}."
        message = f"Expected size for first two dimensions of batch2 tensor to be: {sizes}"
    return torch_error(RuntimeError, message)


@operation
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[::2] != mat2.shape[:2]:
        refuse("torch.bmm of such shapes")
    return matmul(input, mat2)


@only_function
def einsum(equation: str, *operands: Tensor) -> Tensor:
    if len({one.dtype for one in operands}) > 1 or not operands[0].is_floating_point():
        refuse("torch.einsum of these data types")
    terms, output = _terms(equation, [one.ndim for one in operands])
    arrays = [one._array for one in operands]
    found = contiguous_tensor(np.einsum(f"{','.join(terms)}->{output}", *arrays), regular=False)

    def gradient(n: int) -> Callable[[np.ndarray], np.ndarray]:
        given = ",".join([output, *terms[:n], *terms[n + 1 :]])
        return lambda g: np.einsum(f"{given}->{terms[n]}", g, *arrays[:n], *arrays[n + 1 :])

    return record(
        found,
        [(one, gradient(n), [*operands[:n], *operands[n + 1 :]]) for n, one in enumerate(operands)],
    )


def _terms(equation: str, ndims: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters in place of an ellipsis."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    free = [letter for letter in string.ascii_letters if letter not in equation]
    widths = [n - len(t.replace("...", "")) for t, n in zip(terms, ndims, strict=True)]
    most = builtins.max(widths)
    dots = "".join(free[:most])
    found = [t.replace("...", dots[most - width :]) for t, width in zip(terms, widths, strict=True)]
    output = output.replace("...", dots)
    lengths = [len(t) for t in found]
    # each letter in two places at least, none twice in a term
    places = collections.Counter("".join([*found, output]))
    if (
        not arrow
        or lengths != list(ndims)
        or any(len(set(t)) < len(t) for t in [*found, output])
        or set(output) - set("".join(found))
        or 1 in places.values()
    ):
        refuse("such an equation of torch.einsum")
    return found, output
