"""torch, in the exercises that use it.

An exercise that uses torch imports it in its first cell. So a value can be a tensor only where torch has
been imported by then, and the checks never import it to find out: they ask here. An exercise without
torch is built, checked and graded where torch isn't installed.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np

_torch: ModuleType | None = None


def loaded() -> ModuleType | None:
    """torch, or None as long as nothing has imported it.

    What was found once stays: a submission that replaces `sys.modules["torch"]` changes nothing here.
    """
    global _torch
    if _torch is None:
        _torch = sys.modules.get("torch")
    return _torch


def needed() -> ModuleType:
    """torch, imported if it has not been; ModuleNotFoundError where it isn't installed."""
    return loaded() or importlib.import_module("torch")


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of torch."""
    torch = loaded()
    return torch is not None and isinstance(value, torch.Tensor)


def is_module(value: Any) -> bool:
    """Whether a value is an `nn.Module` of torch."""
    torch = loaded()
    return torch is not None and isinstance(value, torch.nn.Module)


def libraries() -> dict[str, ModuleType]:
    """What expressions and input statements can use without an import, by name."""
    torch = loaded()
    return {"np": np} if torch is None else {"np": np, "torch": torch}
