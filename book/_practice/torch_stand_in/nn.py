"""`torch.nn`: no layers; the names that checks look up, and a class that answers may derive from."""

from __future__ import annotations

import types
from typing import Any

from . import functional
from .refusals import lacks, refuse

__all__ = ["Module", "MultiheadAttention", "functional"]
__getattr__ = lacks("torch.nn")


class Module:
    """A module that can't be made."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        refuse(f"torch.nn.{type(self).__name__}")

    def forward(self, *arguments: Any, **named: Any) -> None:
        """There is none; checks replace it where they forbid it."""


class MultiheadAttention(Module):
    """Checks replace its methods where they forbid it."""


_HOOKS = (
    *("buffer_registration", "module_registration", "parameter_registration", "backward_pre"),
    *("backward", "forward_pre", "forward"),
)
modules = types.SimpleNamespace(
    module=types.SimpleNamespace(
        **{f"_global_{name}_hooks": {} for name in _HOOKS},
        _global_forward_hooks_always_called={},
        _global_forward_hooks_with_kwargs={},
    )
)
