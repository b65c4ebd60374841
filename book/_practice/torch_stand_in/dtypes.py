"""Data types, and torch's rules for what an operation of several gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .refusals import lacks_attributes, refuse, refuse_if

OF_NUMPY: dict[np.dtype, DType] = {}


class DType:
    """A data type. word: what torch's messages call it; rank: the higher one wins in a promotion."""

    def __init__(self, name: str, word: str, rank: int, numpy: str = "") -> None:
        self.name, self.word, self.rank = name, word, rank
        self.numpy = np.dtype(numpy or name)
        self.is_half = name in ("float16", "bfloat16")
        self.itemsize = 2 if self.is_half else self.numpy.itemsize
        self.is_floating_point, self.is_complex = "float" in name, "complex" in name
        # 0 for booleans, 1 for integers, 2 for floats, 3 for complex numbers
        OF_NUMPY[self.numpy] = self
        self.category = 2 if self.is_floating_point else 3 if self.is_complex else min(rank, 1)

    __getattr__ = lacks_attributes("torch.dtype")

    def __repr__(self) -> str:
        return f"torch.{self.name}"


bool_ = DType("bool", "Bool", 0)
int32 = DType("int32", "Int", 1)
int64 = DType("int64", "Long", 2)
float16 = DType("float16", "Half", 3)
# NumPy has no such type: its numbers are kept as float32 in the order of bytes that nothing else here has
bfloat16 = DType("bfloat16", "BFloat16", 3, ">f4")
float32 = DType("float32", "Float", 4)
float64 = DType("float64", "Double", 5)
complex64 = DType("complex64", "ComplexFloat", 6)
complex128 = DType("complex128", "ComplexDouble", 7)


def of_array(array: np.ndarray) -> DType:
    """The data type of a NumPy array."""
    return OF_NUMPY.get(array.dtype) or refuse(f"a tensor of {array.dtype}")


def cast(array: np.ndarray, kind: DType) -> np.ndarray:
    """An array's numbers in a data type, rounded as torch rounds them."""
    if kind is not bfloat16 or array.dtype == kind.numpy:
        return array.astype(kind.numpy, copy=False)
    # an axis at least, since an older NumPy counts single numbers otherwise
    single = np.atleast_1d(array.astype(np.float32))
    bits = single.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    found = np.where(np.isnan(single), np.float32(np.nan), rounded.view(np.float32))
    return found.reshape(array.shape).astype(kind.numpy)


def of_number(value: Any) -> DType:
    """The data type that a Python number counts as."""
    kinds = ((bool, bool_), (int, int64), (float, float32), (complex, complex64))
    for kind, found in kinds:
        if isinstance(value, kind):
            return found
    raise TypeError(f"{type(value).__name__} is no number")


def promoted(whole: list[DType], single: list[DType], numbers: list[DType]) -> DType:
    """The data type of a result.

    whole: data types of tensors with axes; single: of those without; numbers: of Python's. Those of a later
    list count only if their category is higher.
    """
    groups = [_highest(group) for group in (whole, single, numbers) if group]
    found = groups[0]
    for other in groups[1:]:
        double = found is float64 and other.is_complex
        found = (complex128 if double else other) if other.category > found.category else found
    return found


def promote_types(type1: DType, type2: DType) -> DType:
    """What tensors of two data types are computed in."""
    return promoted([type1, type2], [], [])


def _highest(group: list[DType]) -> DType:
    """What several of one list are computed in."""
    found = max(group, key=lambda one: one.rank)
    return float32 if found.is_half and {one for one in group if one.is_half} - {found} else found


class finfo:
    """Limits of a data type of floats, as Python's floats."""

    __getattr__ = lacks_attributes("torch.finfo")

    def __init__(self, type: DType = float32) -> None:
        refuse_if(not type.is_floating_point, f"torch.finfo({type})")
        found = np.finfo(np.float32 if type is bfloat16 else type.numpy)
        self.min, self.max, self.eps = float(found.min), float(found.max), float(found.eps)
        self.tiny = self.smallest_normal = float(found.tiny)
        if type is bfloat16:
            self.eps, self.max = 2.0**-7, (2 - 2.0**-7) * 2.0**127
            self.min = -self.max
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
        refuse_if(str(type) != "cpu", f"device {type}")

    def __repr__(self) -> str:
        return "device(type='cpu')"

    def __str__(self) -> str:
        return "cpu"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device)

    def __hash__(self) -> int:
        return hash("cpu")
