"""Operations on shapes: views, indices, joining, and tensors made from nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import DType, bool_, float32, float64, int64
from .graph import is_grad_enabled, summed_to
from .operations import axes_of, fitting, method, only_function, operation
from .refusals import refuse, torch_error
from .tensor import (
    Argument,
    Tensor,
    axis_of,
    check_changeable,
    contiguous_tensor,
    laid_out,
    record,
    view,
    wrap,
    written,
)

# how the code of checks is called (autograder/runtime/evaluate.py)
CHECKS = ("<autotest>",)

# views


def sizes_in(sizes: Sequence[Any]) -> tuple[int, ...]:
    """The sizes that a function is given one by one, or in one sequence."""
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = sizes[0]
    return tuple(int(size.__index__()) for size in sizes)


@operation
def permute(input: Tensor, *dims: Any) -> Tensor:
    if len(sizes_in(dims)) != input.ndim:
        refuse("torch.permute with another number of axes")
    order = tuple(axis_of(dim, input.ndim) for dim in sizes_in(dims))
    back = np.argsort(order)
    return view(input, input._array.transpose(order), lambda g: g.transpose(back))


@operation
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    one, other = axis_of(dim0, input.ndim), axis_of(dim1, input.ndim)
    if input.ndim == 0:
        refuse("torch.transpose of a single number")
    return view(input, input._array.swapaxes(one, other), lambda g: g.swapaxes(one, other))


def reversed_axes(input: Tensor) -> Tensor:
    """`.T`."""
    return permute(input, *reversed(range(input.ndim)))


def matrix_transpose(input: Tensor) -> Tensor:
    """`.mT`."""
    return transpose(input, -2, -1) if input.ndim > 1 else refuse("tensor.mT of what is no matrix")


@operation
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    axis = axis_of(dim, input.ndim + 1)
    return view(input, np.expand_dims(input._array, axis), lambda g: g.squeeze(axis))


@operation
def squeeze(input: Tensor, dim: int) -> Tensor:
    axes = axes_of(dim, input.ndim)
    away = tuple(axis for axis in axes if input._array.shape[axis] == 1)
    return view(input, input._array.squeeze(away), lambda g: np.expand_dims(g, away))


def without_copy(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """The same memory in another shape, where its strides allow it."""
    found = array.view()
    try:
        found.shape = shape
    except AttributeError:
        return None
    return found


def full_shape(sizes: Sequence[Any], input: Tensor) -> tuple[int, ...]:
    """A shape with the size that -1 stands for."""
    shape, total = sizes_in(sizes), input.numel()
    known = math.prod(size for size in shape if size != -1)
    holes = shape.count(-1)
    if holes > 1 or not known or any(size < -1 for size in shape):
        refuse("such a shape")
    if total % known if holes else total != known:
        raise torch_error(
            RuntimeError, f"shape '{list(shape)}' is invalid for input of size {total}"
        )
    return tuple(total // known if size == -1 else size for size in shape)


@method
def view_as_shape(input: Tensor, *sizes: Any) -> Tensor:
    shape = full_shape(sizes, input)
    if not input._regular:
        refuse("tensor.view of a tensor whose layout in memory isn't known here")
    array, before = without_copy(input._array, shape), input._array.shape
    if array is None:
        raise torch_error(
            RuntimeError,
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            "two contiguous subspaces). Use .reshape(...) instead.",
        )
    return view(input, array, lambda g: g.reshape(before))


@operation
def reshape(input: Tensor, *shape: Any) -> Tensor:
    sizes, before = full_shape(shape, input), input._array.shape
    array = without_copy(input._array, sizes)
    if array is not None and input._regular:
        return view(input, array, lambda g: g.reshape(before))
    return record(copied(input, sizes), [(input, lambda g: g.reshape(before), ())])


@method
def contiguous(input: Tensor) -> Tensor:
    if input._array.flags.c_contiguous and input._regular:
        return input
    return record(copied(input, input._array.shape), [(input, lambda g: g, ())])


def copied(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A copy in a shape; where it isn't known whether torch copies, nobody may write into either."""
    made = contiguous_tensor(input._array.reshape(shape).copy(), input._regular)
    if not input._regular:
        made._counter = input._counter
        input._counter.append(0)
    return made


@method
def expand(input: Tensor, *sizes: Any) -> Tensor:
    wanted, before = sizes_in(sizes), input._array.shape
    extra = len(wanted) - len(before)
    if extra < 0 or -1 in wanted[:extra]:
        refuse("tensor.expand to such a shape")
    shape = tuple(before[n - extra] if size == -1 else size for n, size in enumerate(wanted))
    return view(input, np.broadcast_to(input._array, shape), lambda g: summed_to(g, before))


@operation
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    axis = axis_of(dim, input.ndim)
    before = (slice(None),) * axis
    return tuple(get_item(input, (*before, n)) for n in range(input._array.shape[axis]))


# indices


def _index(input: Tensor, given: Any) -> tuple[tuple[Any, ...], list[Tensor]]:
    """An index as NumPy takes it, and the mask in it."""
    parts = given if isinstance(given, tuple) else (given,)
    masks = [part for part in parts if isinstance(part, Tensor)]
    if masks:
        (mask,) = masks
        if len(parts) > 1 or mask.dtype is not bool_ or not mask.ndim:
            refuse("such an index of a tensor")
        if mask.shape != input.shape[: mask.ndim]:
            if mask.ndim > input.ndim:
                message = f"too many indices for tensor of dimension {input.ndim}"
                raise torch_error(IndexError, message)
            pairs = zip(mask.shape, input.shape, strict=False)
            axis = next(n for n, (one, other) in enumerate(pairs) if one != other)
            raise torch_error(
                IndexError,
                f"The shape of the mask {list(mask.shape)} at index {axis} does not match the shape of the "
                f"indexed tensor {list(input.shape)} at index {axis}",
            )
        return (mask._array, Ellipsis), masks
    for part in parts:
        usual = part is None or part is Ellipsis or isinstance(part, int | slice)
        if not usual or isinstance(part, bool):
            refuse("such an index of a tensor")
        if isinstance(part, slice) and (part.step or 1) < 0:
            refuse("a slice backwards")
    # so that a single number is a tensor, too
    return (*parts, *(() if Ellipsis in parts else (Ellipsis,))), []


@method
def get_item(input: Tensor, index: Any) -> Tensor:
    where, masks = _index(input, index)
    array, shape = input._array[where], input._array.shape

    def gradient(g: np.ndarray) -> np.ndarray:
        back = np.zeros(shape, dtype=g.dtype)
        back[where] = g
        return back

    if not masks:
        return view(input, array, gradient)
    return record(contiguous_tensor(array), [(input, gradient, masks)])


@method
def set_item(input: Tensor, index: Any, value: Any) -> None:
    where, masks = _index(input, index)
    if isinstance(value, Tensor) and masks and value.dtype is not input.dtype:
        refuse("numbers of another data type in places of a mask")
    array = input._array.copy()
    array[where] = fitting(value, input.dtype)
    if is_grad_enabled():
        check_changeable(input, "a leaf" if masks or index is Ellipsis else "a view of a leaf")

    def for_input(g: np.ndarray) -> np.ndarray:
        back = g.copy()
        back[where] = 0
        return back

    arguments: list[Argument] = [(input, for_input, masks), (value, lambda g: g[where], masks)]
    written(input, record(wrap(array), arguments))


# joining, and parts of matrices


@only_function
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    if len({one.shape for one in tensors}) > 1:
        refuse("torch.stack of different shapes")
    axis = axis_of(dim, tensors[0].ndim + 1)
    return cat([unsqueeze(one, axis) for one in tensors], axis)


@only_function
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    axis = axis_of(dim, tensors[0].ndim)
    kind = dtypes.promoted([one.dtype for one in tensors], [], [])
    arrays: list[np.ndarray] = [one._array.astype(kind.numpy, copy=False) for one in tensors]
    regular = not all(map(_may_be_channels_last, arrays))
    made = contiguous_tensor(np.concatenate(arrays, axis), regular)
    ends = np.cumsum([array.shape[axis] for array in arrays])

    def part(n: int) -> Callable[[np.ndarray], np.ndarray]:
        cut = slice(int(ends[n]) - arrays[n].shape[axis], int(ends[n]))
        return lambda g: g[(slice(None),) * axis + (cut,)]

    return record(made, [(one, part(n), ()) for n, one in enumerate(tensors)])


def _may_be_channels_last(array: np.ndarray) -> bool:
    """Whether torch might take it for images whose channels lie together, and keep them so."""
    inner = [n for n in range(2, array.ndim) if array.shape[n] > 1]
    apart = array.shape[1] > 1 and any(array.strides[1] > array.strides[n] for n in inner)
    return not (array.ndim < 4 or array.flags.c_contiguous or apart)


@method
def flip(input: Tensor, *dims: Any) -> Tensor:
    axes = axes_of(sizes_in(dims), input.ndim)
    made = contiguous_tensor(np.flip(input._array, axes), input._array.flags.c_contiguous)
    return record(made, [(input, lambda g: np.flip(g, axes), ())])


def _triangle(name: str, compute: Callable) -> None:
    def function(input: Tensor, diagonal: int = 0) -> Tensor:
        if input.ndim < 2:
            refuse(f"torch.{name} of what is no matrix")
        array = compute(input._array, diagonal)
        made = contiguous_tensor(array, input._array.flags.c_contiguous)
        return record(made, [(input, lambda g: compute(g, diagonal), ())])

    operation(function, name)


_triangle("tril", np.tril)
_triangle("triu", np.triu)


# copies


@operation
def clone(input: Tensor) -> Tensor:
    return record(laid_out(input._array.copy(order="K"), input), [(input, lambda g: g, ())])


@method
def to(input: Tensor, *arguments: Any, dtype: DType | None = None, device: Any = "cpu") -> Tensor:
    kind = dtype or input.dtype
    dtypes.device(device)
    for one in arguments:
        if isinstance(one, DType | Tensor):
            kind = one if isinstance(one, DType) else one.dtype
        else:
            dtypes.device(one)
    if kind is input.dtype:
        return input
    if kind is float32 and input.dtype is float64 and not _asked_by_check():
        # what then differs are digits of float32, which differ between processors, too
        refuse("float32 in place of float64")
    made = laid_out(input._array.astype(kind.numpy), input)
    return record(made, [(input, lambda g: g, ())]) if kind.is_floating_point else made


def _asked_by_check() -> bool:
    """Whether the code that called this package is a check's own, and no answer's."""
    frame = sys._getframe()
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(__package__ or ""):
        frame = frame.f_back
    return frame.f_code.co_filename in CHECKS


# from nothing


def made_of(
    array: np.ndarray, dtype: DType | None, device: Any = "cpu", requires_grad: bool = False
) -> Tensor:
    """A new tensor of an array's numbers."""
    dtypes.device(device)
    array = array if dtype is None else array.astype(dtype.numpy, copy=False)
    return contiguous_tensor(array).requires_grad_(requires_grad)


def _filled(name: str, *number: int) -> None:
    """zeros, zeros_like, new_zeros; ones; full, with its number as an argument."""

    def function(*size: Any, dtype: DType | None = None, **named: Any) -> Tensor:
        shape: Any = sizes_in(size) if number else size[0]
        (value,) = number or size[1:]
        kind = dtype or (float32 if number else dtypes.of_number(value))
        return made_of(np.full(shape, value, dtype=kind.numpy), None, **named)

    def like(input: Tensor, *value: Any, dtype: DType | None = None, **named: Any) -> Tensor:
        (filled,) = value or number
        made = np.full(input.shape, filled, dtype=(dtype or input.dtype).numpy)
        found = made_of(made, None, **named)
        found._regular = input._array.flags.c_contiguous
        return found

    def new(input: Tensor, *size: Any, dtype: DType | None = None, **named: Any) -> Tensor:
        return function(*size, dtype=dtype or input.dtype, **named)

    only_function(function, name)
    only_function(like, f"{name}_like")
    method(new, f"new_{name}")


_filled("zeros", 0)
_filled("ones", 1)
_filled("full")


@only_function
def tensor(data: Any, *, dtype: DType | None = None, **named: Any) -> Tensor:
    if isinstance(data, np.ndarray | np.generic):
        return made_of(np.array(data), dtype, **named)
    kinds = set(_number_types(data))
    if not kinds <= {bool, int, float}:
        refuse("torch.tensor of such data")
    kind = float32 if float in kinds or not kinds else int64 if int in kinds else bool_
    return made_of(np.array(data, dtype=kind.numpy), dtype or kind, **named)


def _number_types(data: Any) -> Iterator[type]:
    """The types of what nested lists hold."""
    if isinstance(data, list | tuple):
        for one in data:
            yield from _number_types(one)
    else:
        yield type(data)


@only_function
def from_numpy(ndarray: np.ndarray) -> Tensor:
    return wrap(ndarray) if isinstance(ndarray, np.ndarray) else refuse("such an array")


@only_function
def as_tensor(data: Any, dtype: DType | None = None, device: Any = "cpu") -> Tensor:
    found = from_numpy(data) if isinstance(data, np.ndarray) else tensor(data, device=device)
    return to(found, dtype or found.dtype)


@only_function
def arange(*bounds: int, dtype: DType | None = None, **named: Any) -> Tensor:
    if not all(isinstance(bound, int) for bound in bounds):
        refuse("torch.arange of floats")
    return made_of(np.arange(*bounds, dtype=np.int64), dtype, **named)


@only_function
def is_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor)
