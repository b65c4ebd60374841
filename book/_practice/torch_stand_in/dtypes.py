"""Data types, and torch's rules for what an operation of several gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .refusals import lacks_attributes, refuse


class DType:
    """A data type. word: what torch's messages call it; rank: the higher one wins in a promotion."""

    def __init__(self, name: str, word: str, rank: int) -> None:
        self.name, self.word, self.rank = name, word, rank
        self.numpy = np.dtype(name)
        self.itemsize = self.numpy.itemsize
        self.is_floating_point, self.is_complex = name.startswith("float"), False
        # 0 for booleans, 1 for integers, 2 for floats
        self.category = 2 if self.is_floating_point else min(rank, 1)

    __getattr__ = lacks_attributes("torch.dtype")

    def __repr__(self) -> str:
        return f"torch.{self.name}"


bool_ = DType("bool", "Bool", 0)
int32 = DType("int32", "Int", 1)
int64 = DType("int64", "Long", 2)
float32 = DType("float32", "Float", 3)
float64 = DType("float64", "Double", 4)
OF_NUMPY = {one.numpy: one for one in (bool_, int32, int64, float32, float64)}


def of_array(array: np.ndarray) -> DType:
    """The data type of a NumPy array."""
    return OF_NUMPY.get(array.dtype) or refuse(f"a tensor of {array.dtype}")


def of_number(value: Any) -> DType:
    """The data type that a Python number counts as."""
    for kind, found in ((bool, bool_), (int, int64), (float, float32)):
        if isinstance(value, kind):
            return found
    raise TypeError(f"{type(value).__name__} is no number")


def promoted(whole: list[DType], single: list[DType], numbers: list[DType]) -> DType:
    """The data type of a result.

    whole: data types of tensors with axes; single: of those without; numbers: of Python's. Those of a later
    list count only if their category is higher.
    """
    groups = [max(group, key=lambda one: one.rank) for group in (whole, single, numbers) if group]
    found = groups[0]
    for other in groups[1:]:
        found = other if other.category > found.category else found
    return found


class finfo:
    """Limits of a data type of floats, as Python's floats."""

    __getattr__ = lacks_attributes("torch.finfo")

    def __init__(self, type: DType = float32) -> None:
        if not type.is_floating_point:
            refuse(f"torch.finfo({type})")
        found = np.finfo(type.numpy)
        self.min, self.max, self.eps = float(found.min), float(found.max), float(found.eps)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.bits, self.dtype = 8 * type.itemsize, type.name


class Size(tuple):
    """A shape."""

    def __getitem__(self, index: Any) -> Any:  # type: ignore[override]
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """The number of entries."""
        return int(np.prod(self, dtype=np.int64))


class device:
    """Where a tensor lies: in the page that is always the processor."""

    type, index = "cpu", None
    __getattr__ = lacks_attributes("torch.device")

    def __init__(self, type: Any = "cpu") -> None:
        if str(type) != "cpu":
            refuse(f"device {type}")

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device)

    def __hash__(self) -> int:
        return hash("cpu")
