"""Operations on shapes: views, indices, joining, and tensors made from nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import dtypes, graph
from .dtypes import DType, bool_, float32, float64, int64
from .graph import summed_to
from .operations import (
    FUNCTIONS,
    axes_of,
    fitting,
    method,
    only_function,
    operation,
    view_operation,
)
from .refusals import refuse, refuse_if, torch_raises
from .tensor import (
    Argument,
    Tensor,
    as_given,
    axis_of,
    broadcast_shape,
    check_changeable,
    computed,
    contiguous_tensor,
    edge_to,
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


@view_operation
def permute(input: Tensor, *dims: Any) -> Tensor:
    refuse_if(len(sizes_in(dims)) != input.ndim, "torch.permute with another number of axes")
    order = tuple(axis_of(dim, input.ndim) for dim in sizes_in(dims))
    back = np.argsort(order)
    return view(input, input._array.transpose(order), lambda g: g.transpose(back))


@view_operation
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    one, other = axis_of(dim0, input.ndim), axis_of(dim1, input.ndim)
    refuse_if(input.ndim == 0, "torch.transpose of a single number")
    return view(input, input._array.swapaxes(one, other), lambda g: g.swapaxes(one, other))


def reversed_axes(input: Tensor) -> Tensor:
    """`.T`."""
    return permute(input, *reversed(range(input.ndim)))


def matrix_transpose(input: Tensor) -> Tensor:
    """`.mT`."""
    return transpose(input, -2, -1) if input.ndim > 1 else refuse("tensor.mT of what is no matrix")


@view_operation
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    axis = axis_of(dim, input.ndim + 1)
    return view(input, np.expand_dims(input._array, axis), lambda g: g.squeeze(axis))


@view_operation
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
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
    refuse_if(holes > 1 or not known or any(size < -1 for size in shape), "such a shape")
    if total % known if holes else total != known:
        torch_raises(f"shape '{list(shape)}' is invalid for input of size {total}")
    return tuple(total // known if size == -1 else size for size in shape)


@method
def view_as_shape(input: Tensor, *sizes: Any) -> Tensor:
    shape = full_shape(sizes, input)
    refuse_if(not input._regular, "tensor.view of a tensor whose layout in memory isn't known here")
    array, before = without_copy(input._array, shape), input._array.shape
    if array is None:
        torch_raises(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            "two contiguous subspaces). Use .reshape(...) instead."
        )
    return view(input, array, lambda g: g.reshape(before))


@view_operation
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
    refuse_if(extra < 0 or -1 in wanted[:extra], "tensor.expand to such a shape")
    shape = tuple(before[n - extra] if size == -1 else size for n, size in enumerate(wanted))
    for n in reversed(range(extra, len(shape))):
        if before[n - extra] not in (1, shape[n]):
            torch_raises(
                f"The expanded size of the tensor ({shape[n]}) must match the existing size ({before[n - extra]}) at "
                f"non-singleton dimension {n}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(before)}"
            )
    return view(input, np.broadcast_to(input._array, shape), lambda g: summed_to(g, before))


@view_operation
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    first, last = axis_of(start_dim, input.ndim), axis_of(end_dim, input.ndim)
    refuse_if(first > last, "torch.flatten with these axes")
    shape = input._array.shape
    if input.ndim and first == last:
        return input
    return reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@view_operation
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    axis, shape = axis_of(dim, input.ndim), input._array.shape
    part = list(sizes_in([sizes]))
    known = math.prod(one for one in part if one != -1)
    if part.count(-1) == 1 and shape[axis] % known == 0:
        part[part.index(-1)] = shape[axis] // known
    refuse_if(math.prod(part) != shape[axis] or min(part) < 0, "torch.unflatten into such sizes")
    return view_as_shape(input, (*shape[:axis], *part, *shape[axis + 1 :]))


@view_operation
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    array = np.moveaxis(input._array, source, destination)
    return view(input, array, lambda g: np.moveaxis(g, destination, source))


@method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    return expand(input, *other.shape)


@view_operation
def broadcast_to(input: Tensor, *size: Any) -> Tensor:
    return expand(input, *size)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    shape = broadcast_shape([one.shape for one in tensors])
    return tuple(expand(one, *shape) for one in tensors)


only_function(broadcast_tensors, as_it_is=True)


@view_operation
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    axis = axis_of(dim, input.ndim)
    if not 0 <= start <= start + length <= input._array.shape[axis]:
        refuse("torch.narrow beyond the end")
    return get_item(input, ((slice(None),) * axis) + (slice(start, start + length),))


@view_operation
def split(input: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    refuse_if(not input.ndim, "torch.split of a single number")
    size = input._array.shape[axis_of(dim, input.ndim)]
    if isinstance(split_size, int):
        split_size = [min(split_size, size - n) for n in range(0, size, split_size)]
    refuse_if(sum(split_size) != size, "torch.split into such sizes")
    starts = np.cumsum([0, *split_size]).tolist()
    return tuple(narrow(input, dim, *one) for one in zip(starts, split_size, strict=False))


@view_operation
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    refuse_if(not input.ndim, "torch.chunk of a single number")
    size = input._array.shape[axis_of(dim, input.ndim)]
    return split(input, -(-size // chunks), dim)


@view_operation
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    axis = axis_of(dim, input.ndim)
    before = (slice(None),) * axis
    return tuple(get_item(input, (*before, n)) for n in range(input._array.shape[axis]))


# indices


def _apart(input: Tensor, given: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], list[Tensor]]:
    """An index as NumPy takes it, in two steps: numbers and slices, then tensors; and these tensors."""
    parts = [_plain(part) for part in (given if isinstance(given, tuple) else (given,))]
    tensors = [part for part in parts if isinstance(part, Tensor)]
    for part in parts:
        usual = part is None or part is Ellipsis or isinstance(part, int | slice | Tensor)
        refuse_if(not usual or isinstance(part, bool), "such an index of a tensor")
        refuse_if(isinstance(part, slice) and (part.step or 1) < 0, "a slice backwards")
    if not tensors:
        # so that a single number is a tensor, too
        return (*parts, *(() if _dots(parts) else (Ellipsis,))), (Ellipsis,), []
    used = sum(one.ndim if isinstance(one, Tensor) and one.dtype is bool_ else 1 for one in parts)
    used -= _dots(parts) + sum(one is None for one in parts)
    if used > input.ndim:
        torch_raises(f"too many indices for tensor of dimension {input.ndim}", IndexError)
    at = next((n for n, one in enumerate(parts) if one is Ellipsis), len(parts))
    parts[at : at + _dots(parts)] = [slice(None)] * (input.ndim - used)
    first: list[Any] = []
    second: list[Any] = []
    axis = 0
    for part in parts:
        if not isinstance(part, Tensor):
            first.append(part)
            second += [] if isinstance(part, int) else [slice(None)]
            axis += part is not None
        elif part.dtype is bool_:
            _check_mask(part, input, axis)
            first += [slice(None)] * part.ndim
            second += part._array.nonzero()
            axis += part.ndim
        else:
            size = input._array.shape[axis]
            outside = {*part._array[(part._array < -size) | (part._array >= size)].tolist()}
            several = axis or len(tensors) > 1 or len(outside) > 1
            refuse_if(outside and several, "an index beyond the end of an axis")
            for one in outside:
                told = f"index {one} is out of bounds for dimension 0 with size {size}"
                torch_raises(told, IndexError)
            first.append(slice(None))
            second.append(part._array)
            axis += 1
    return (*first, Ellipsis), (*second, Ellipsis), tensors


def _plain(part: Any) -> Any:
    """A part of an index: lists as tensors, and a tensor with one number as that number."""
    if isinstance(part, list | np.ndarray):
        # an empty list is one of integers here
        part = as_tensor(part if len(part) or not isinstance(part, list) else np.zeros(0, int))
    if isinstance(part, Tensor) and (
        part.is_floating_point() or (not part.ndim and part.dtype is bool_)
    ):
        refuse("such an index of a tensor")
    return int(part._array) if isinstance(part, Tensor) and not part.ndim else part


def _dots(parts: Sequence[Any]) -> int:
    return sum(one is Ellipsis for one in parts)


def _check_mask(mask: Tensor, input: Tensor, axis: int) -> None:
    sizes = input.shape[axis : axis + mask.ndim]
    for n, (one, other) in enumerate(zip(mask.shape, sizes, strict=True)):
        if one != other:
            torch_raises(
                f"The shape of the mask {list(mask.shape)} at index {n} does not match the shape of the "
                f"indexed tensor {list(input.shape)} at index {axis + n}",
                IndexError,
            )


def _part(input: Tensor, index: tuple[Any, ...]) -> np.ndarray:
    """What numbers and slices take of a tensor."""
    try:
        return input._array[index]
    except IndexError as error:
        told = str(error).replace("axis", "dimension")
        refuse_if(not input.ndim, "an index of a single number")
        if any(part is None or part is Ellipsis for part in index[:-1]):
            # of these torch counts the places in the index, not the axes
            refuse("an index beyond the end of an axis")
        if told.startswith("too many"):
            told = f"too many indices for tensor of dimension {input.ndim}"
        torch_raises(told, IndexError)


def back_at(shape: tuple[int, ...], places: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The gradient of an array from that of what was taken from places in it."""

    def gradient(g: np.ndarray) -> np.ndarray:
        back = np.zeros(shape, dtype=g.dtype)
        np.add.at(back, places, g)
        return back

    return gradient


@method
def get_item(input: Tensor, index: Any) -> Tensor:
    first, second, tensors = _apart(input, index)
    part, shape = _part(input, first), input._array.shape

    def gradient(g: np.ndarray) -> np.ndarray:
        back = np.zeros(shape, dtype=g.dtype)
        if tensors:
            np.add.at(back[first], second, g)
        else:
            back[first] = g
        return back

    if not tensors:
        return view(input, part, gradient)
    # torch may lay out what several axes give in another order
    regular = isinstance(index, Tensor) and input._array.flags.c_contiguous
    return computed(part[second], input, gradient, tensors, regular)


@method
def set_item(input: Tensor, index: Any, value: Any) -> None:
    first, second, tensors = _apart(input, index)
    masks = [one for one in tensors if one.dtype is bool_]
    if isinstance(value, Tensor) and tensors and value.dtype is not input.dtype:
        refuse("numbers of another data type in places of a tensor")
    array = input._array.copy()
    array[first][second] = fitting(value, input.dtype)
    if graph.is_grad_enabled():
        check_changeable(input, "a leaf" if tensors or index is Ellipsis else "a view of a leaf")
        if tensors and not masks and (edge_to(input) or edge_to(value)):
            refuse("the gradient of numbers in places of a tensor of integers")

    def for_input(g: np.ndarray) -> np.ndarray:
        back = g.copy()
        back[first][second] = 0
        return back

    for_value: Argument = (value, lambda g: g[first][second], masks)
    written(input, record(wrap(array), [(input, for_input, masks), for_value]))


@operation
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    axis, places = axis_of(dim, input.ndim), index._array
    odd = index.dtype is not int64 or index.ndim != input.ndim
    refuse_if(odd, "torch.gather with such an index")
    where = [*np.ogrid[tuple(map(slice, places.shape))]]
    where[axis] = places
    size = input._array.shape[axis]
    others = zip(places.shape, input._array.shape, strict=True)
    if any(n != axis and one > most for n, (one, most) in enumerate(others)):
        refuse("torch.gather with an index that is larger elsewhere")
    if (outside := places[(places < 0) | (places >= size)]).size:
        torch_raises(f"index {outside[0]} is out of bounds for dimension {axis} with size {size}")
    key = tuple(where)
    return computed(input._array[key], input, back_at(input._array.shape, key), [index])


@operation
def nonzero(input: Tensor) -> Tensor:
    return contiguous_tensor(np.argwhere(input._array).astype(np.int64))


@operation
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    return get_item(input, (slice(None),) * axis_of(dim, input.ndim) + (index,))


# joining, and parts of matrices


@only_function
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    for number, one in enumerate(tensors):
        if one.shape != tensors[0].shape:
            shapes = f"{list(tensors[0].shape)} at entry 0 and {list(one.shape)} at entry {number}"
            torch_raises(f"stack expects each tensor to be equal size, but got {shapes}")
    axis = axis_of(dim, tensors[0].ndim + 1)
    return cat([unsqueeze(one, axis) for one in tensors], axis)


@only_function
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    axis = axis_of(dim, tensors[0].ndim)
    kind = dtypes.promoted([one.dtype for one in tensors], [], [])
    for number, one in enumerate(tensors):
        sizes = enumerate(zip(tensors[0].shape, one.shape, strict=True))
        if wrong := [pair for n, pair in sizes if n != axis and pair[0] != pair[1]]:
            expected, got = wrong[0]
            torch_raises(
                f"Sizes of tensors must match except in dimension {axis}. Expected size {expected} but got size "
                f"{got} for tensor number {number} in the list."
            )
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
    if array.ndim < 4 or array.flags.c_contiguous:
        return False
    inner = [n for n in range(2, array.ndim) if array.shape[n] > 1]
    return not (array.shape[1] > 1 and any(array.strides[1] > array.strides[n] for n in inner))


@only_function
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


# complex numbers, which lie in memory as pairs


@only_function
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    if abs.dtype is not angle.dtype or abs.requires_grad or angle.requires_grad:
        refuse("torch.polar of these tensors")
    return laid_out(abs._array * np.exp(1j * angle._array), abs, angle)


@only_function
def view_as_complex(input: Tensor) -> Tensor:
    if input.ndim == 0 or input.shape[-1] != 2 or not input.is_contiguous():
        refuse("torch.view_as_complex of this tensor")
    kind = np.dtype(f"c{2 * input._array.itemsize}")
    found = input._array.view(kind)[..., 0]
    return view(input, found, lambda g: np.stack([g.real, g.imag], axis=-1))


@only_function
def view_as_real(input: Tensor) -> Tensor:
    array = input._array
    kind = np.dtype(f"f{array.itemsize // 2}")
    found = np.ascontiguousarray(array)[..., None].view(kind)
    refuse_if(not array.flags.c_contiguous or not array.ndim, "torch.view_as_real of this tensor")
    return view(input, found, lambda g: g[..., 0] + 1j * g[..., 1])


def part_of(name: str) -> Callable[[Tensor], Tensor]:
    """`.real` or `.imag`."""

    def get(input: Tensor) -> Tensor:
        if not input.dtype.is_complex or input.requires_grad:
            refuse(f"tensor.{name} of this tensor")
        return wrap(getattr(input._array, name), input._counter)

    return get


def _rearranged(name: str, compute: Callable, back: Callable) -> None:
    """back: from the gradient of the result and the same arguments, that of the tensor."""

    def function(input: Tensor, *given: Any, **named: Any) -> Tensor:
        refuse_if(name[:3] == "tri" and input.ndim < 2, f"torch.{name} of what is no matrix")
        array = input._array
        found, regular = compute(array, *given, **named), array.flags.c_contiguous
        return computed(found, input, lambda g: back(g, *given, **named), (), regular)

    (method if name == "flip" else operation)(function, name)


def _triangle(compute: Callable) -> Callable:
    return lambda x, diagonal=0: compute(x, diagonal)


def _flipped(x: np.ndarray, *dims: Any) -> np.ndarray:
    return np.flip(x, axes_of(sizes_in(dims), x.ndim))


def _rolled(x: np.ndarray, shifts: Any, dims: Any = None) -> np.ndarray:
    return np.roll(x, shifts, dims)


def _rolled_back(x: np.ndarray, shifts: Any, dims: Any = None) -> np.ndarray:
    return np.roll(x, np.negative(shifts), dims)


_rearranged("tril", *2 * [_triangle(np.tril)])
_rearranged("triu", *2 * [_triangle(np.triu)])
_rearranged("flip", _flipped, _flipped)
_rearranged("roll", _rolled, _rolled_back)


@method
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    times = sizes_in(repeats)
    refuse_if(len(times) < input.ndim or 0 in times, "tensor.repeat with these numbers")
    before = (1,) * (len(times) - input.ndim) + input._array.shape
    pairs = [one for pair in zip(times, before, strict=True) for one in pair]

    def gradient(g: np.ndarray) -> np.ndarray:
        return g.reshape(pairs).sum(axis=tuple(range(0, len(pairs), 2))).reshape(input.shape)

    return computed(np.tile(input._array, times), input, gradient)


@operation
def repeat_interleave(input: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    refuse_if(isinstance(repeats, Tensor), "torch.repeat_interleave with a tensor")
    given, axis = (flatten(input), 0) if dim is None else (input, axis_of(dim, input.ndim))
    parts = (*given.shape[: axis + 1], repeats, *given.shape[axis + 1 :])
    found = np.repeat(given._array, repeats, axis)
    return computed(found, given, lambda g: g.reshape(parts).sum(axis=axis + 1))


@operation
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    refuse_if(input.ndim != 1, "torch.diag of what is no vector")
    return computed(np.diag(input._array, diagonal), input, lambda g: np.diagonal(g, diagonal))


@only_function
def block_diag(*tensors: Tensor) -> Tensor:
    refuse_if(any(one.ndim != 2 for one in tensors), "torch.block_diag of what are no matrices")
    widths = [one._array.shape[1] for one in tensors]
    rows = []
    for n, one in enumerate(tensors):
        before, after = (
            FUNCTIONS["zeros"](len(one), sum(part), dtype=one.dtype)
            for part in (widths[:n], widths[n + 1 :])
        )
        rows.append(cat([before, one, after], 1))
    return cat(rows)


@operation
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    refuse_if(input.ndim != 1 or vec2.ndim != 1, "torch.outer of what are no vectors")
    return FUNCTIONS["mul"](unsqueeze(input, 1), vec2)


# copies


@view_operation
def clone(input: Tensor) -> Tensor:
    made = as_given(laid_out(input._array.copy(order="K"), input), input)
    return record(made, [(input, lambda g: g, ())])


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
    narrower = kind is float32 and input.dtype is float64
    if narrower and input._given and not _asked_by_check():
        # what then differs are digits of float32, which differ between processors, too
        refuse("float32 in place of float64")
    made = laid_out(dtypes.cast(input._array, kind), input)
    return record(made, [(input, lambda g: g, ())]) if kind.is_floating_point else made


def _asked_by_check() -> bool:
    """Whether the code that called this package is a check's own, and no answer's."""
    frame = sys._getframe()
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(__package__ or ""):
        frame = frame.f_back
    return frame.f_code.co_filename in CHECKS


@method
def type_as(input: Tensor, other: Tensor) -> Tensor:
    return to(input, other.dtype)


# from nothing


def made_of(
    array: np.ndarray, dtype: DType | None, device: Any = "cpu", requires_grad: bool = False
) -> Tensor:
    """A new tensor of an array's numbers."""
    dtypes.device(device)
    array = array if dtype is None else dtypes.cast(array, dtype)
    return contiguous_tensor(array).requires_grad_(requires_grad)


def _told(value: float, kind: DType) -> float:
    """What shows that nothing has been written there yet, where a data type has it."""
    return 0 if math.isnan(value) and not kind.is_floating_point else value


def _filled(name: str, *number: float) -> None:
    """zeros, zeros_like, new_zeros; ones; full, with its number as an argument."""

    def function(*size: Any, dtype: DType | None = None, **named: Any) -> Tensor:
        shape: Any = sizes_in(size) if number else size[0]
        if negative := [one for one in shape if one < 0]:
            torch_raises(
                f"Trying to create tensor with negative dimension {negative[0]}: {list(shape)}"
            )
        (value,) = number or size[1:]
        kind = dtype or (float32 if number else dtypes.of_number(value))
        return made_of(np.full(shape, _told(value, kind)), kind, **named)

    def like(input: Tensor, *value: Any, dtype: DType | None = None, **named: Any) -> Tensor:
        (filled,) = value or number
        kind = dtype or input.dtype
        found = made_of(np.full(input.shape, _told(filled, kind)), kind, **named)
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
# what nobody has written yet shows
_filled("empty", math.nan)


@only_function
def eye(n: int, m: int | None = None, *, dtype: DType | None = None, **named: Any) -> Tensor:
    return made_of(np.eye(n, m), dtype or float32, **named)


@only_function
def tensor(data: Any, *, dtype: DType | None = None, **named: Any) -> Tensor:
    if isinstance(data, np.ndarray | np.generic):
        return made_of(np.array(data), dtype, **named)
    found = dtypes.promoted([*_types_in(data)] or [float32], [], [])
    # in the most digits, which a data type that is asked for may have
    numbers = np.float64 if found.is_floating_point else found.numpy
    array = np.array(_plain_numbers(data), dtype=numbers)
    return made_of(array, dtype or found, **named)


def _types_in(data: Any) -> Iterator[DType]:
    """The data types of what nested lists hold."""
    if isinstance(data, list | tuple):
        for one in data:
            yield from _types_in(one)
    elif isinstance(data, Tensor) and data._array.size == 1:
        yield data.dtype
    elif isinstance(data, np.generic):
        yield dtypes.of_array(np.asarray(data))
    else:
        yield dtypes.of_number(data)


def _plain_numbers(data: Any) -> Any:
    """Nested lists with numbers in place of tensors."""
    if isinstance(data, list | tuple):
        return [_plain_numbers(one) for one in data]
    return data.item() if isinstance(data, Tensor) else data


@only_function
def from_numpy(ndarray: np.ndarray) -> Tensor:
    made = wrap(ndarray) if isinstance(ndarray, np.ndarray) else refuse("such an array")
    made._given = True
    return made


@only_function
def as_tensor(data: Any, dtype: DType | None = None, device: Any = "cpu") -> Tensor:
    found = from_numpy(data) if isinstance(data, np.ndarray) else tensor(data, device=device)
    return to(found, dtype or found.dtype)


@only_function
def arange(*bounds: float, dtype: DType | None = None, **named: Any) -> Tensor:
    whole = all(isinstance(bound, int) for bound in bounds)
    start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if not whole and (step != int(step) or start != int(start)):
        refuse("torch.arange with such steps")
    kind = int64 if whole else float32
    return made_of(np.arange(start, end, step), dtype or kind, **named)


@only_function
def is_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor)
