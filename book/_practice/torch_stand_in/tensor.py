"""Tensors: a NumPy array, how often its memory was changed in place, and the operation that it comes from."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from . import dtypes, graph
from .dtypes import Size, of_array
from .graph import Counter, Edge, Node
from .refusals import offered, refuse, refuse_if, torch_raises

RESULT = object()  # among what an operation saves: its own result
# an argument of an operation, the gradient with respect to it, and what that needs
Argument = tuple[Any, Callable[[np.ndarray], np.ndarray], Sequence[Any]]


class Tensor:
    """A tensor on the processor, whose methods do what those of torch's tensors do.

    array: its numbers; counter: see graph.Counter; base: of a view that gradients follow, the tensor that it
    views; regular: whether torch's has these strides, too; given: whether it holds the numbers of an array.
    """

    shape: Size
    dtype: dtypes.DType
    ndim: int
    _array: np.ndarray
    _counter: Counter
    _base: Tensor | None
    _base_node: Node | None
    _node: Node | None
    _leaf: Node | None
    _regular: bool
    layout, is_quantized = "torch.strided", False
    is_cuda = is_sparse = False
    device = dtypes.device()
    # an array or a number of NumPy's on the left leaves an operator to the tensor
    __array_priority__ = 1000
    grad: Tensor | None = None
    _given = False

    def __new__(cls, *arguments: Any, **named: Any) -> Tensor:
        refuse("torch.Tensor(...)")

    # what it is

    @property
    def requires_grad(self) -> bool:
        return edge_to(self) is not None

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self.requires_grad_(on)

    @offered
    def size(self, dim: int | None = None) -> Any:
        refuse_if(dim is not None and self.ndim == 0, "the size of a single number along an axis")
        return self.shape if dim is None else self._array.shape[axis_of(dim, self.ndim)]

    def is_contiguous(self) -> bool:
        refuse_if(not self._regular, "the layout of this tensor in memory")
        return self._array.flags.c_contiguous

    # gradients

    @property
    def data(self) -> Tensor:
        return wrap(self._array, regular=self._regular)

    @data.setter
    def data(self, other: Tensor) -> None:
        if self._node is not None or edge_to(self._base) is not None:
            refuse("tensor.data = ... of this tensor")
        self._base = None
        self._array, self._counter, self._regular = other._array, other._counter, other._regular

    @offered
    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False) -> None:
        if gradient is None and self._array.size != 1:
            torch_raises("grad can be implicitly created only for scalar outputs")
        if edge_to(self) is None:
            torch_raises("element 0 of tensors does not require grad and does not have a grad_fn")
        first = np.ones_like(self._array) if gradient is None else gradient._array
        for node, found in graph.gradients(start_of(self), first, retain_graph).items():
            leaf = node.leaf() if node.leaf else None
            if leaf is not None:
                before = 0 if leaf.grad is None else leaf.grad._array
                leaf.grad = wrap(before + found)

    @offered
    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if (self._node and not requires_grad) or (requires_grad and not self.is_floating_point()):
            refuse("tensor.requires_grad_ of this tensor")
        if self._node is None:
            if requires_grad and self._leaf is None:
                self._leaf = Node(leaf=weakref.ref(self))
            elif not requires_grad:
                self._leaf = None
        return self

    def detach(self) -> Tensor:
        return as_given(wrap(self._array, self._counter, regular=self._regular), self)

    # as Python and NumPy see it

    @offered
    def numpy(self) -> np.ndarray:
        if self.dtype is dtypes.bfloat16:
            torch_raises("Got unsupported ScalarType BFloat16", TypeError)
        if self.requires_grad:
            torch_raises(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        return self._array

    @offered
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    @offered
    def item(self) -> Any:
        return self._array.item()

    @offered
    def __bool__(self) -> bool:
        if self._array.size > 1:
            torch_raises("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._array.item())

    __float__ = offered(lambda self: float(self._array.item()))
    __int__ = offered(lambda self: int(self._array.item()))

    @offered
    def __index__(self) -> int:
        if self.is_floating_point() or self._array.size != 1:
            torch_raises(
                "only integer tensors of a single element can be converted to an index", TypeError
            )
        return int(self._array.item())

    __len__ = offered(lambda self: len(self._array))

    @offered
    def __iter__(self) -> Iterator[Tensor]:
        return iter([self.__getitem__(n) for n in range(len(self._array))])

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        text = np.array2string(self._array, precision=4, separator=", ", prefix="tensor(")
        kind = "" if self.dtype.name in ("bool", "int64", "float32") else f", dtype={self.dtype}"
        past = ", grad_fn=..." if self._node else ", requires_grad=True" if self._leaf else ""
        return f"tensor({text}{kind}{past})"

    def __deepcopy__(self, memo: dict) -> Tensor:
        refuse_if(self._node is not None, "a copy of a tensor with a past")
        made = laid_out(self._array.copy(order="K"), self, kind=type(self))
        return made.requires_grad_(self._leaf is not None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")
        refuse(f"tensor.{name}")


# what it tells of itself: properties, and methods
TOLD: dict[str, Callable] = {
    "shape": lambda self: Size(self._array.shape),
    "dtype": lambda self: of_array(self._array),
    "ndim": lambda self: self._array.ndim,
    "is_leaf": lambda self: self._node is None,
}
TELLING: dict[str, Callable] = {
    "dim": lambda self: self._array.ndim,
    "numel": lambda self: int(self._array.size),
    "element_size": lambda self: self.dtype.itemsize,
    "is_floating_point": lambda self: self.dtype.is_floating_point,
    "tolist": lambda self: self._array.tolist(),
}
for _name, _tell in (TOLD | TELLING).items():
    setattr(Tensor, _name, property(_tell) if _name in TOLD else _tell)


class Parameter(Tensor):
    """A tensor that a module learns."""

    def __new__(cls, data: Tensor, requires_grad: bool = True) -> Parameter:
        made = wrap(data._array, data._counter, regular=data._regular, kind=cls)
        made.requires_grad_(requires_grad)
        return cast(Parameter, made)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def wrap(
    array: Any,
    counter: Counter | None = None,
    base: Tensor | None = None,
    regular: bool = True,
    kind: type[Tensor] = Tensor,
) -> Tensor:
    """A tensor around an array, on its memory. kind: its class; the other arguments: see Tensor."""
    made = object.__new__(kind)
    made._array, made._counter = np.asarray(array), [0] if counter is None else counter
    of_array(made._array)
    made._base = base if base is None or base._base is None else base._base
    made._base_node = None if made._base is None else made._base._node
    made._node = made._leaf = None
    made._regular = regular
    return made


def as_given(made: Tensor, tensor: Tensor) -> Tensor:
    """A tensor with the same numbers as another."""
    made._given = tensor._given
    return made


def contiguous_tensor(array: Any, regular: bool = True) -> Tensor:
    """A new tensor whose numbers lie in the order of its axes."""
    return wrap(np.asarray(array, order="C"), regular=regular)


def laid_out(array: Any, *operands: Any, kind: type[Tensor] = Tensor) -> Tensor:
    """A new tensor of an elementwise result, in torch's layout as far as that is known."""
    array = np.asarray(array)
    tensors = [one for one in operands if isinstance(one, Tensor) and one._array.size > 1]
    if all(one._array.flags.c_contiguous for one in tensors):
        return wrap(np.asarray(array, order="C"), kind=kind)
    strides = [np.broadcast_to(one._array, array.shape).strides for one in tensors]
    # what torch takes for the step of an axis of length 1 isn't known
    known = 1 not in array.shape or set(strides) == {array.strides}
    order = _order(array.shape, strides)
    made = np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    return wrap(made, regular=known and all(one._regular for one in tensors), kind=kind)


def _order(shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> list[int]:
    """The axes of an elementwise result from the one with the largest steps, as torch's TensorIterator sorts them."""

    def swapped(one: int, other: int) -> int:
        for steps in strides:
            if steps[one] and steps[other]:
                if steps[one] != steps[other]:
                    return -1 if steps[one] < steps[other] else 1
                if shape[one] > shape[other]:
                    return 1
        return 0

    found = [*reversed(range(len(shape)))]
    for last in range(1, len(shape)):
        for n in reversed(range(last)):
            comparison = swapped(found[n], found[last])
            if comparison > 0:
                found[n], found[last] = found[last], found[n]
                last = n
            elif comparison < 0:
                break
    return found[::-1]


def edge_to(tensor: Any) -> Node | None:
    """The end of the way back to a tensor; None where no gradient goes."""
    if not isinstance(tensor, Tensor):
        return None
    if tensor._base is not None and tensor._base._node is not tensor._base_node:
        refuse("a view of a tensor that was changed in place")
    return tensor._node or tensor._leaf


def record(result: Tensor, arguments: Sequence[Argument]) -> Tensor:
    """Note where a result comes from, if a gradient flows and operations are recorded."""
    if not graph.is_grad_enabled():
        return result
    edges: list[Edge] = []
    needed: list[Any] = []
    for tensor, gradient, needs in arguments:
        if (node := edge_to(tensor)) is not None:
            refuse_if(tensor.dtype.is_half, "gradients in half precision")
            edges.append(Edge(node, gradient, tensor._array.shape, tensor._array.dtype))
            needed += [result if one is RESULT else one for one in needs]
    if edges:
        counters = [one._counter for one in needed if isinstance(one, Tensor)]
        result._node = Node(edges, [(counter, counter[0]) for counter in counters])
    return result


def computed(
    array: Any, tensor: Tensor, back: Callable, needs: Sequence[Any] = (), regular: bool = True
) -> Tensor:
    """A new tensor that comes from another. back: the gradient of that one from this one's."""
    return record(contiguous_tensor(array, regular), [(tensor, back, needs)])


def view(tensor: Tensor, array: np.ndarray, back: Callable) -> Tensor:
    """A tensor on the memory of another. back: the gradient of that one from this one's."""
    made = as_given(wrap(array, tensor._counter, tensor, tensor._regular), tensor)
    return record(made, [(tensor, back, ())])


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The common shape, or torch's RuntimeError."""
    found: tuple[int, ...] = ()
    for shape in shapes:
        ndim = max(len(found), len(shape))
        one, other = ((1,) * (ndim - len(s)) + tuple(s) for s in (found, shape))
        for n in reversed(range(ndim)):
            if one[n] != other[n] and 1 not in (one[n], other[n]):
                torch_raises(
                    f"The size of tensor a ({one[n]}) must match the size of tensor b ({other[n]}) at "
                    f"non-singleton dimension {n}"
                )
        found = tuple(b if a == 1 else a for a, b in zip(one, other, strict=True))
    return found


def axis_of(dim: int, ndim: int) -> int:
    """An axis counted from the front."""
    most = max(ndim, 1)
    if not -most <= dim < most:
        torch_raises(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], but got {dim})",
            IndexError,
        )
    return dim % most


def start_of(tensor: Tensor) -> Node:
    """The node of a tensor that gradients flow to."""
    return edge_to(tensor) or refuse("the gradient of a tensor that needs none")


def in_place(function: Callable) -> Callable:
    """The version of an operation that writes its result into its first argument."""

    def change(tensor: Tensor, *arguments: Any, **named: Any) -> Tensor:
        if function.__name__ == "logical_not" and tensor.is_floating_point():
            refuse("tensor.logical_not_ of numbers")
        old = tensor
        if graph.is_grad_enabled():
            check_changeable(tensor)
            # torch keeps the old numbers, too, where a gradient needs them
            old = wrap(tensor._array.copy(order="K"), regular=tensor._regular)
            old._node, old._leaf = tensor._node, tensor._leaf
        sizes = zip(tensor._array.shape, tensor._array.strides, strict=True)
        if any(size > 1 and stride == 0 for size, stride in sizes):
            refuse("an in-place change of an expanded tensor")
        broadcast_shape([tensor.shape, *(a.shape for a in arguments if isinstance(a, Tensor))])
        found = function(old, *arguments, **named)
        if found.shape != tensor.shape or found.dtype.category > tensor.dtype.category:
            refuse("an in-place change to another shape or data type")
        return written(tensor, found)

    change.__name__ = f"{function.__name__}_"
    return offered(change)


def check_changeable(tensor: Tensor, what: str = "a leaf") -> None:
    """Raise torch's RuntimeError before an in-place change of a leaf while operations are recorded."""
    base = tensor._base
    if tensor._leaf is not None:
        torch_raises(f"{what} Variable that requires grad is being used in an in-place operation.")
    if base is not None and (edge_to(tensor) or edge_to(base)):
        refuse("an in-place change of a view that gradients flow through")


def written(tensor: Tensor, found: Tensor) -> Tensor:
    """Write a result into a tensor's memory, and give it the result's past."""
    if found._node is not None and tensor._base is not None:
        refuse("an in-place change of a view that gradients flow through")
    if graph.is_grad_enabled() and tensor._node is not None and found._node is None:
        refuse("an in-place change through which no gradient flows")
    refuse_if(len(tensor._counter) > 1, "an in-place change of what may have been copied")
    tensor._array[...] = found._array
    tensor._counter[0] += 1
    if found._node is not None:
        tensor._node, now = found._node, (tensor._counter, tensor._counter[0])
        tensor._node.saved = [
            now if one[0] is found._counter else one for one in tensor._node.saved
        ]
    return tensor
