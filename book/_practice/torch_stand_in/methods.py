"""Gives tensors their methods and operators; those that only torch's have refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import dtypes
from .operations import FUNCTIONS, METHODS
from .refusals import offered, refuse
from .shapes import matrix_transpose, part_of, reversed_axes, to
from .tensor import Tensor, in_place

# other names of the same operations
OTHER_NAMES = (
    "multiply=mul divide=div subtract=sub swapaxes=transpose concat=cat clip=clamp negative=neg absolute=abs "
    "arctan=atan moveaxis=movedim greater=gt less=lt not_equal=ne"
)
IN_PLACE = (
    "add sub mul div exp masked_fill logical_not neg fill zero copy bitwise_and bitwise_or bitwise_xor "
    "relu clamp tanh sigmoid sqrt pow abs tril triu"
)
OPERATORS = {
    **{f"__{name}__": name for name in ("add", "sub", "mul", "matmul", "neg", "abs", "pow")},
    **{f"__{name}__": name for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"__{name}__": f"bitwise_{name}" for name in ("and", "or", "xor")},
    **{f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul")},
    **{f"__i{name}__": f"bitwise_{name}_" for name in ("and", "or", "xor")},
    "__truediv__": "div",
    "__mod__": "remainder",
    "__floordiv__": "floor_divide",
    "__itruediv__": "div_",
    "__invert__": "bitwise_not",
    "__getitem__": "get_item",
    "__setitem__": "set_item",
}
# what is only done in place
WRITTEN: dict[str, Callable] = {
    "fill": lambda self, value: FUNCTIONS["full_like"](self, value),
    "zero": lambda self: FUNCTIONS["zeros_like"](self),
    "copy": lambda self, src: FUNCTIONS["where"](
        FUNCTIONS["ones_like"](self, dtype=dtypes.bool_), to(src, self.dtype), self
    ),
}
REFUSED = (
    "ifloordiv imod divmod rdivmod ipow lshift rshift ilshift irshift rlshift rrshift imatmul rmatmul complex "
    "contains reversed pos round delitem copy reduce_ex array_wrap dlpack cuda_array_interface enter exit trunc "
    "floor ceil"
)


def reflected(function: Callable) -> Callable:
    """An operator whose left side is no tensor."""
    return lambda self, other: function(other, self)


def operator(function: Callable) -> Callable:
    """An operator that leaves it to Python where the other side is nothing to compute with."""

    def call(self: Tensor, *other: Any) -> Any:
        if other and isinstance(other[0], str | None.__class__):
            return NotImplemented
        return function(self, *other)

    return call


def _refusal(name: str) -> Callable:
    return lambda *arguments, **named: refuse(f"tensor.{name}")


def _converted(kind: dtypes.DType) -> Callable:
    return offered(lambda self: to(self, kind))


def give_methods() -> None:
    """Complete the class Tensor."""
    for other, name in (pair.split("=") for pair in OTHER_NAMES.split()):
        FUNCTIONS[other] = FUNCTIONS[name]
        if name in METHODS:
            METHODS[other] = METHODS[name]
    found: dict[str, Any] = dict(METHODS)
    found |= {f"{name}_": in_place({**FUNCTIONS, **WRITTEN}[name]) for name in IN_PLACE.split()}
    found["view"] = found.pop("view_as_shape")
    found["where"] = lambda self, condition, other: FUNCTIONS["where"](condition, self, other)
    found |= {name: operator(found[target]) for name, target in OPERATORS.items()}
    for name in ("__getitem__", "__setitem__"):
        found[name] = found.pop(OPERATORS[name])
    found |= {f"__r{name}__": reflected(FUNCTIONS[name]) for name in ("add", "sub", "mul", "pow")}
    found["__rmod__"] = reflected(FUNCTIONS["remainder"])
    found["__rfloordiv__"] = reflected(FUNCTIONS["floor_divide"])
    found["__rtruediv__"] = lambda self, other: FUNCTIONS["mul"](self.reciprocal(), other)
    found |= {f"__r{name}__": found[f"__{name}__"] for name in ("and", "or", "xor")}
    kinds = {"bool": dtypes.bool_, "int": dtypes.int32, "long": dtypes.int64}
    kinds |= {"float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16}
    kinds["bfloat16"] = dtypes.bfloat16
    found |= {name: _converted(kind) for name, kind in kinds.items()}
    # nothing to do here
    found |= dict.fromkeys(
        ("cpu", "resolve_conj", "resolve_neg", "as_subclass"), lambda self, *given: self
    )
    found |= {"T": property(reversed_axes), "mT": property(matrix_transpose)}
    found |= {name: property(part_of(name)) for name in ("real", "imag")}
    found |= {f"__{name}__": _refusal(f"__{name}__") for name in REFUSED.split()}
    for name, value in found.items():
        setattr(Tensor, name, value)
