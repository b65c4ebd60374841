"""`torch.nn.functional`, which `torch.nn` gives its name."""

from __future__ import annotations

from typing import Any

from .dtypes import DType
from .inert import replaced
from .operations import FUNCTIONS
from .refusals import lacks, refuse
from .tensor import Tensor

__getattr__ = lacks("torch.nn.functional")


def softmax(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """The same without NumPy's names of arguments, which refuse."""
    return FUNCTIONS["softmax"](input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """The same without NumPy's names of arguments, which refuse."""
    return FUNCTIONS["log_softmax"](input, dim, dtype)


def scaled_dot_product_attention(*arguments: Any, **named: Any) -> None:
    """What exercise 2 asks for: checks forbid it, and it isn't offered."""
    if forbidden := replaced.get("scaled_dot_product_attention"):
        forbidden(*arguments, **named)
    refuse("torch.nn.functional.scaled_dot_product_attention")


def multi_head_attention_forward(*arguments: Any, **named: Any) -> None:
    """Checks forbid it, and it isn't offered."""
    refuse("torch.nn.functional.multi_head_attention_forward")
