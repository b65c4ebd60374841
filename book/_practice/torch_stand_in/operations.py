"""The operations: functions of torch, most of which are methods of tensors, too.

Each gives `record` its result, and for each argument the gradient with respect to it.
"""

from __future__ import annotations

import collections
import functools
import math
import operator
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from . import dtypes
from .dtypes import DType, bool_, float32, of_number
from .refusals import offered, refuse, refuse_if, torch_raises
from .tensor import (
    RESULT,
    Argument,
    Tensor,
    axis_of,
    broadcast_shape,
    contiguous_tensor,
    edge_to,
    laid_out,
    record,
    wrap,
)

# what complex numbers can be used for
OF_COMPLEX = ("add", "sub", "mul", "exp", "neg", "clone", "real", "imag", "view_as_real")
FUNCTIONS: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {}


def only_function(function: Callable, name: str = "", as_it_is: bool = False) -> Callable:
    """A function of torch that is no method; name: if it isn't its own; as_it_is: see `in_single`."""
    function.__name__ = name or function.__name__
    made = FUNCTIONS[function.__name__] = offered(function if as_it_is else in_single(function))
    return made


def method(function: Callable, name: str = "") -> Callable:
    """A method of tensors that is no function, and computes nothing."""
    function.__name__ = name or function.__name__
    made = METHODS[function.__name__] = offered(function)
    return made


def operation(function: Callable, name: str = "", as_it_is: bool = False) -> Callable:
    """A function that is a method, too."""
    made = METHODS[name or function.__name__] = only_function(function, name, as_it_is)
    return made


def view_operation(function: Callable) -> Callable:
    """The same, of what computes nothing."""
    return operation(function, as_it_is=True)


def in_single(function: Callable) -> Callable:
    """An operation that computes half precision in single precision, as torch does, and rounds the result."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        tensors = list(_tensors_in([*given, *named.values()]))
        if any(one.dtype.is_complex for one in tensors) and function.__name__ not in OF_COMPLEX:
            refuse(f"torch.{function.__name__} of complex numbers")
        halves = [one for one in tensors if one.dtype.is_half]
        if not halves:
            return function(*given, **named)
        refuse_if(any(one.requires_grad for one in halves), "gradients in half precision")
        kind = dtypes.promoted(
            [one.dtype for one in tensors if one.ndim],
            [one.dtype for one in tensors if not one.ndim],
            [of_number(one) for one in given if isinstance(one, bool | int | float)],
        )
        options = [*given[1:], *named.values()]
        if function.__name__ == "log_softmax":
            # there torch rounds on the way
            refuse("torch.log_softmax in half precision")
        if function.__name__ == "softmax" and not _is_last(tensors[0], options):
            return _half_softmax(tensors[0], *options)
        wide = [_changed(one, lambda t: t.dtype.is_half, float32) for one in given]
        found = function(*wide, **named)
        if not kind.is_half or "dtype" in named:
            return found
        return _changed(found, lambda t: t.dtype is float32, kind)

    return call


def _half_softmax(input: Tensor, dim: Any, dtype: DType | None = None) -> Tensor:
    """Along another axis than the last torch rounds the exponentials before it divides."""
    if dtype is not None or not isinstance(dim, int):
        refuse("torch.softmax in half precision with these arguments")
    axis, x = axis_of(dim, input.ndim), input._array.astype(np.float32)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    whole = e.sum(axis=axis, keepdims=True)
    found = dtypes.cast(e, input.dtype).astype(np.float32) / whole
    return contiguous_tensor(dtypes.cast(found, input.dtype))


def _is_last(tensor: Tensor, options: Sequence[Any]) -> bool:
    return bool(options) and options[0] in (-1, tensor.ndim - 1)


def _tensors_in(values: Sequence[Any]) -> Iterator[Tensor]:
    for one in values:
        if isinstance(one, Tensor):
            yield one
        elif isinstance(one, list | tuple):
            yield from _tensors_in(one)


def _changed(value: Any, which: Callable[[Tensor], bool], kind: DType) -> Any:
    """A value with some of its tensors in another data type."""
    if isinstance(value, Tensor):
        return laid_out(dtypes.cast(value._array, kind), value) if which(value) else value
    if not isinstance(value, list | tuple) or isinstance(value, dtypes.Size):
        return value
    parts = [_changed(one, which, kind) for one in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


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
    return dtypes.cast(array, kind)


def fitting(value: Any, kind: DType) -> np.ndarray:
    """What is written into numbers of a data type."""
    given = value.dtype if isinstance(value, Tensor) else of_number(value)
    found = as_array(value, kind)
    too_large = not isinstance(value, Tensor) and np.isinf(found) and not math.isinf(value)
    if too_large and kind.is_floating_point:
        word = {"float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float"}[kind.name]
        torch_raises(f"value cannot be converted to type {word} without overflow")
    refuse_if(kind.category < given.category or too_large, f"such a number in a tensor of {kind}")
    return found


def floats(kind: DType) -> DType:
    """The data type that an operation on floats gives."""
    return kind if kind.is_floating_point or kind.is_complex else float32


# by name: the result, the gradient from (g, x, result), and which of these it needs
UNARY: dict[str, tuple[Callable, Callable, str]] = {
    "exp": (np.exp, lambda g, x, r: g * r, "r"),
    "log": (np.log, lambda g, x, r: g / x, "x"),
    "sqrt": (np.sqrt, lambda g, x, r: g / (2 * r), "r"),
    "reciprocal": (lambda x: 1 / x, lambda g, x, r: -g * (r * r), "r"),
    "cos": (np.cos, lambda g, x, r: g * -np.sin(x), "x"),
    "sin": (np.sin, lambda g, x, r: g * np.cos(x), "x"),
    "atan": (np.arctan, lambda g, x, r: g / (x * x + 1), "x"),
    "tanh": (np.tanh, lambda g, x, r: g * (1 - r * r), "r"),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda g, x, r: g * (1 - r) * r, "r"),
    "relu": (
        lambda x: np.where(x <= 0, x.dtype.type(0), x),
        lambda g, x, r: np.where(r <= 0, 0, g),
        "r",
    ),
    "square": (np.square, lambda g, x, r: g * 2 * x, "x"),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda g, x, r: g * (-0.5 * r**3), "r"),
    "log2": (np.log2, lambda g, x, r: g / (x * math.log(2)), "x"),
    "sign": (lambda x: np.nan_to_num(np.sign(x)), lambda g, x, r: np.zeros_like(g), ""),
    "floor": (np.floor, lambda g, x, r: np.zeros_like(g), ""),
    "abs": (np.abs, lambda g, x, r: g * np.sign(np.nan_to_num(x)), "x"),
    "neg": (np.negative, lambda g, x, r: -g, ""),
}


# which give integers for integers
OF_INTEGERS = ("abs", "neg", "relu", "square", "sign", "floor")


def _unary(name: str, compute: Callable, gradient: Callable, needs: str) -> None:
    def function(input: Tensor) -> Tensor:
        refuse_if(input.dtype.is_complex and input.requires_grad, "gradients of complex numbers")
        kind = input.dtype if name in OF_INTEGERS else floats(input.dtype)
        refuse_if(kind is bool_, f"torch.{name} of booleans")
        x = as_array(input, kind)
        found = laid_out(compute(x), input)
        r = found._array
        kept = [RESULT if needs == "r" else input] if needs else []
        return record(found, [(input, lambda g: gradient(g, x, r), kept)])

    operation(function, name)


for _name, _parts in UNARY.items():
    _unary(_name, *_parts)


# by name: the result, the two gradients from (g, a, b, result), and which of "abr" each needs
BINARY: dict[str, tuple[Callable, Callable, str, Callable, str]] = {
    "add": (np.add, lambda g, a, b, r: g, "", lambda g, a, b, r: g, ""),
    "sub": (np.subtract, lambda g, a, b, r: g, "", lambda g, a, b, r: -g, ""),
    "mul": (
        np.multiply,
        lambda g, a, b, r: g * b.conj(),
        "b",
        lambda g, a, b, r: g * a.conj(),
        "a",
    ),
    "div": (np.divide, lambda g, a, b, r: g / b, "b", lambda g, a, b, r: -g * (a / b / b), "ab"),
    "maximum": (
        *(np.maximum, lambda g, a, b, r: _shared(g, a, b, a > b), "ab"),
        *(lambda g, a, b, r: _shared(g, a, b, b > a), "ab"),
    ),
    "minimum": (
        *(np.minimum, lambda g, a, b, r: _shared(g, a, b, a < b), "ab"),
        *(lambda g, a, b, r: _shared(g, a, b, b < a), "ab"),
    ),
    "pow": (
        *(np.power, lambda g, a, b, r: np.where(b == 0, 0, g * b * np.power(a, b - 1)), "ab"),
        *(lambda g, a, b, r: np.where((a == 0) & (b >= 0), 0, g * r * np.log(a)), "abr"),
    ),
    "logaddexp": (
        *(np.logaddexp, lambda g, a, b, r: g * _part(a, r), "ar"),
        *(lambda g, a, b, r: g * _part(b, r), "br"),
    ),
    "remainder": (
        *(np.remainder, lambda g, a, b, r: g, ""),
        *(lambda g, a, b, r: -g * np.floor_divide(a, b), "ab"),
    ),
    "floor_divide": (np.floor_divide, lambda *given: _no_way(), "", lambda *given: _no_way(), ""),
}


def _shared(g: np.ndarray, a: np.ndarray, b: np.ndarray, better: np.ndarray) -> np.ndarray:
    """What goes to the better of two numbers; where both are equal, each gets a half."""
    return np.where(a == b, g / 2, np.where(better, g, 0))


def _part(x: np.ndarray, r: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(x) & (x < 0), 0, np.exp(x - r))


def _no_way() -> NoReturn:
    refuse("the gradient of torch.floor_divide")


def _binary(
    name: str, compute: Callable, first: Callable, of_first: str, second: Callable, of_second: str
) -> None:
    check = CHECKED.get(name)

    def function(input: Any, other: Any) -> Tensor:
        kind, (a, b) = common(input, other)
        if check:
            check(name, kind, a, b, input, other)
        if name == "div" and not kind.is_floating_point:
            a, b = a.astype(float32.numpy), b.astype(float32.numpy)
        found = laid_out(compute(a, b), input, other)
        r, saved = found._array, {"a": input, "b": other, "r": RESULT}
        for_input: Argument = (input, lambda g: first(g, a, b, r), [saved[n] for n in of_first])
        for_other = (other, lambda g: second(g, a, b, r), [saved[n] for n in of_second])
        return record(found, [for_input, for_other])

    operation(function, name)


def _check_difference(name: str, kind: DType, a: np.ndarray, b: np.ndarray, *given: Any) -> None:
    kinds = [one.dtype if isinstance(one, Tensor) else of_number(one) for one in given]
    refuse_if(kinds == [bool_, bool_], "the difference of booleans")
    if bool_ in kinds:
        torch_raises(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead."
        )


def _check_tensors(name: str, kind: DType, a: np.ndarray, b: np.ndarray, *given: Any) -> None:
    """Of two tensors, and without the gradient of NaN."""
    usual = all(isinstance(one, Tensor) for one in given)
    refuse_if(not usual or (name == "logaddexp" and not kind.is_floating_point), f"torch.{name}")
    odd = name != "logaddexp" and any(map(edge_to, given)) and np.isnan(a + b).any()
    refuse_if(odd, f"the gradient of torch.{name} of NaN")


def _check_power(name: str, kind: DType, a: np.ndarray, b: np.ndarray, *given: Any) -> None:
    exponent, floating = given[1], kind.is_floating_point
    of_booleans = kind is bool_ or (isinstance(exponent, Tensor) and exponent.dtype is bool_)
    refuse_if(of_booleans, "a power of booleans")
    if not floating and (b < 0).any():
        refuse_if(isinstance(exponent, Tensor), "negative powers of integers")
        torch_raises("Integers to negative integer powers are not allowed.")
    # what torch has of 0, infinity and NaN here differs from case to case
    odd = not floating or not (np.isfinite(a).all() and np.isfinite(b).all() and a.all())
    refuse_if(odd and any(map(edge_to, given)), "the gradient of such a power")


def _check_divisor(name: str, kind: DType, a: np.ndarray, b: np.ndarray, *given: Any) -> None:
    odd = kind is bool_ or not b.all() or (kind.is_floating_point and not np.isfinite(b).all())
    refuse_if(odd, f"torch.{name} of such numbers")


CHECKED = {"sub": _check_difference, "pow": _check_power}
CHECKED |= dict.fromkeys(("maximum", "minimum", "logaddexp"), _check_tensors)
CHECKED |= dict.fromkeys(("remainder", "floor_divide"), _check_divisor)
for _name, _rules in BINARY.items():
    _binary(_name, *_rules)


@operation
def where(condition: Tensor, input: Any, other: Any) -> Tensor:
    refuse_if(condition.dtype is not bool_, "torch.where with a condition that isn't boolean")
    _, (a, b) = common(input, other)
    chosen = condition._array
    broadcast_shape([chosen.shape, a.shape, b.shape])
    found = laid_out(np.where(chosen, a, b), condition, input, other)
    for_input: Argument = (input, lambda g: np.where(chosen, g, 0), [condition])
    return record(found, [for_input, (other, lambda g: np.where(chosen, 0, g), [condition])])


@view_operation
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    broadcast_shape([mask.shape, input.shape])
    if mask.dtype is not bool_ or (isinstance(value, Tensor) and value.ndim):
        refuse("tensor.masked_fill with such a mask or value")
    hidden = mask._array
    chosen = np.where(hidden, fitting(value, input.dtype), input._array)
    found = laid_out(dtypes.cast(chosen, input.dtype), input, mask)
    for_input: Argument = (input, lambda g: np.where(hidden, 0, g), [mask])
    return record(found, [for_input, (value, lambda g: np.where(hidden, g, 0).sum(), [mask])])


@operation
def clamp(input: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    bounds = [one for one in (min, max) if one is not None]
    if not bounds or any(isinstance(one, Tensor) for one in bounds):
        refuse("torch.clamp with such bounds")
    _, (x, *_) = common(input, *bounds)
    low, high = (None if one is None else x.dtype.type(one) for one in (min, max))
    found = np.clip(x, low, high)
    return record(laid_out(found, input), [(input, lambda g: np.where(x == found, g, 0), [input])])


@operation
def round(input: Tensor, decimals: int = 0) -> Tensor:
    x, factor = input._array, 10.0**decimals
    refuse_if(not input.is_floating_point(), "torch.round of integers")
    found = laid_out(np.round(x * factor) / factor if decimals else np.round(x), input)
    return record(found, [(input, np.zeros_like, ())])


@operation
def nan_to_num(input: Tensor, nan: float = 0.0) -> Tensor:
    refuse_if(not input.is_floating_point(), "torch.nan_to_num of integers")
    x = input._array
    found = laid_out(np.nan_to_num(x, nan=nan), input)
    return record(found, [(input, lambda g: g * np.isfinite(x), [input])])


def _compare(name: str, compute: Callable) -> None:
    def function(input: Any, other: Any) -> Tensor:
        if name.startswith("logical"):
            broadcast_shape([input.shape, other.shape])
            return laid_out(compute(input._array, other._array), input, other)
        kind, (a, b) = common(input, other)
        refuse_if(name.startswith("bitwise") and kind is not bool_, f"torch.{name} of numbers")
        return laid_out(compute(a, b), input, other)

    operation(function, name)


def _what_is(name: str, compute: Callable) -> None:
    operation(lambda input: laid_out(compute(input._array), input), name)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compare(_name, getattr(operator, _name))
for _name in ("and", "or", "xor"):
    for _kind in ("bitwise", "logical"):
        _compare(f"{_kind}_{_name}", getattr(np, f"logical_{_name}"))
for _name in ("isnan", "isinf", "isfinite", "isneginf", "isposinf", "logical_not"):
    _what_is(_name, getattr(np, _name))


@operation
def bitwise_not(input: Tensor) -> Tensor:
    refuse_if(input.dtype is not bool_, "torch.bitwise_not of numbers")
    return FUNCTIONS["logical_not"](input)


def _close(name: str, given: Callable) -> None:
    def function(
        input: Tensor,
        other: Tensor,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        equal_nan: bool = False,
    ) -> Any:
        refuse_if(input.dtype is not other.dtype, "a comparison of tensors of two data types")
        return given(np.isclose(input._array, other._array, rtol, atol, equal_nan))

    operation(function, name)


_close("isclose", contiguous_tensor)
_close("allclose", lambda found: bool(found.all()))


@operation
def equal(input: Tensor, other: Tensor) -> bool:
    return np.array_equal(input._array, other._array)


# along axes


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; all for None."""
    if dim is None:
        return tuple(range(ndim))
    found = tuple(axis_of(one, ndim) for one in ([dim] if isinstance(dim, int) else dim))
    refuse_if(not found or len(set(found)) < len(found), "these axes")
    return found if ndim else ()


def spread(g: np.ndarray, axes: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """The gradient of a reduction, with its axes put back in with size 1."""
    return g if keepdim else np.expand_dims(g, axes)


# matrices


@operation
def matmul(input: Tensor, other: Tensor) -> Tensor:
    if 1 in (input.ndim, other.ndim):
        return _with_vector(input, other)
    a, b = input._array, other._array
    if not (input.is_floating_point() and other.is_floating_point()) or 0 in (a.ndim, b.ndim):
        refuse("a matrix product of such tensors")
    if a.shape[-1] != b.shape[-2] or a.dtype != b.dtype:
        _product_error(input, other)
    broadcast_shape([a.shape[:-2], b.shape[:-2]])
    found = contiguous_tensor(np.matmul(a, b), regular=min(a.ndim, b.ndim) > 2 or a.ndim == b.ndim)
    for_input: Argument = (input, lambda g: g @ b.swapaxes(-1, -2), [other])
    return record(found, [for_input, (other, lambda g: a.swapaxes(-1, -2) @ g, [input])])


def _with_vector(input: Tensor, other: Tensor) -> Tensor:
    """A vector is a matrix with one row, or with one column."""
    a, b = input._array, other._array
    usual = input.dtype is other.dtype and input.is_floating_point() and a.ndim and b.ndim
    if not usual or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        refuse("a product of a matrix and such a vector")
    left = reshaped(input, (1, -1)) if a.ndim == 1 else input
    product = matmul(left, reshaped(other, (-1, 1)) if b.ndim == 1 else other)
    return reshaped(product, np.matmul(a, b).shape)


def reshaped(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The same numbers in another shape, as a new tensor."""
    array = input._array
    made = wrap(array.reshape(shape), input._counter, regular=input._regular)
    return record(made, [(input, lambda g: g.reshape(array.shape), ())])


def _product_error(input: Tensor, other: Tensor) -> NoReturn:
    """What torch says of sizes or data types that don't fit."""
    a, b = input._array, other._array
    (*leading, rows), (*_, columns, width) = a.shape[:-2] + a.shape[-1:], b.shape
    count = math.prod(broadcast_shape([leading, b.shape[:-2]]))
    # torch may multiply a stack by a matrix, or by a stack of one, as one tall matrix
    tall = a.shape[:-2] != b.shape[:-2] and 1 in (len(a), len(b)) and min(a.ndim, b.ndim) < 4
    if a.ndim != b.ndim or (tall and (input.requires_grad or other.requires_grad)):
        refuse("a matrix product of such shapes or data types")
    refuse_if(rows == columns and a.ndim == 2, "a product of matrices of two data types")
    if rows == columns:
        message = f"expected scalar type {input.dtype.word} but found {other.dtype.word}"
    elif a.ndim == 2:
        shapes = f"({len(a)}x{rows} and {columns}x{width})"
        message = f"mat1 and mat2 shapes cannot be multiplied {shapes}"
    else:
        sizes = f"{[count, rows]} but got: {[count, columns]}."
        message = f"Expected size for first two dimensions of batch2 tensor to be: {sizes}"
    torch_raises(message)


@operation
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[::2] != mat2.shape[:2]:
        refuse("torch.bmm of such shapes")
    return matmul(input, mat2)


@operation
def matrix_exp(input: Tensor) -> Tensor:
    x = input._array
    if input.ndim < 2 or x.shape[-1] != x.shape[-2] or input.requires_grad:
        refuse("torch.matrix_exp of this tensor")
    halvings = int(np.ceil(np.log2(np.abs(x).sum(axis=-1).max(initial=0.5)))) + 1
    small, found = x / 2.0**halvings, np.zeros_like(x)
    for n in reversed(range(18)):
        found = np.eye(x.shape[-1], dtype=x.dtype) + small @ found / (n + 1)
    for _ in range(halvings):
        found = found @ found
    return contiguous_tensor(found)


@only_function
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    away = np.abs(x1._array[..., :, None, :] - x2._array[..., None, :, :])
    if x1.requires_grad or x2.requires_grad or p not in (1, 2):
        refuse("torch.cdist of these tensors")
    found = away.sum(axis=-1) if p == 1 else np.sqrt(np.square(away).sum(axis=-1))
    return contiguous_tensor(found)


@only_function
def einsum(equation: str, *operands: Tensor) -> Tensor:
    if len({one.dtype for one in operands}) > 1 or not operands[0].is_floating_point():
        refuse("torch.einsum of these data types")
    left, arrow, output = equation.replace(" ", "").partition("->")
    pairs = [(t, one.ndim) for t, one in zip(left.split(","), operands, strict=True)]
    # letters in place of an ellipsis
    widths = [n - len(t.replace("...", "")) for t, n in pairs]
    dots = "".join([one for one in string.ascii_letters if one not in equation][: max(widths)])
    output = output.replace("...", dots)
    terms = [
        t.replace("...", dots[len(dots) - width :])
        for (t, _), width in zip(pairs, widths, strict=True)
    ]
    # each letter in two places at least, none twice in a term
    once = 1 in collections.Counter("".join([*terms, output])).values()
    twice = any(len(set(term)) < len(term) for term in (*terms, output))
    unknown = set(output) - set("".join(terms))
    refuse_if(not arrow or once or twice or unknown, "such an equation of torch.einsum")
    arrays = [one._array for one in operands]
    found = contiguous_tensor(np.einsum(f"{','.join(terms)}->{output}", *arrays), regular=False)

    def argument(n: int) -> Argument:
        others = [*operands[:n], *operands[n + 1 :]]
        back = f"{','.join([output, *terms[:n], *terms[n + 1 :]])}->{terms[n]}"
        return operands[n], lambda g: np.einsum(back, g, *(one._array for one in others)), others

    return record(found, [argument(n) for n in range(len(operands))])
