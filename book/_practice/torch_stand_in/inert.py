"""What the checks touch of torch and what does nothing in the page: settings, modes, hooks.

autograder/runtime/torch_internals.py and settings.py say what it is for.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

from .dtypes import float32
from .refusals import refuse, refuse_if

# operators that a check has replaced, by name
replaced: dict[str, Callable] = {}


def _setting(name: str, usual: Any) -> tuple[Callable, Callable]:
    """What tells a setting, and what sets it, which can't be changed here."""

    def put(value: Any) -> None:
        refuse_if(value != usual, f"torch.{name}")

    return lambda: usual, put


SETTINGS = {"default_dtype": float32, "num_threads": 1, "float32_matmul_precision": "highest"}
for _name, _usual in SETTINGS.items():
    _told, _put = _setting(f"set_{_name}", _usual)
    globals().update({f"get_{_name}": _told, f"set_{_name}": _put})
are_deterministic_algorithms_enabled, use_deterministic_algorithms = _setting(
    "use_deterministic_algorithms", False
)


def autocast(
    device_type: str, enabled: bool = True, **named: Any
) -> contextlib.AbstractContextManager:
    """Switched off, as checks do it; on it isn't offered."""
    return refuse("torch.autocast") if enabled else contextlib.nullcontext()


def set_printoptions(*, profile: str) -> None:
    """The checks set the usual ones."""
    refuse_if(profile != "default", "torch.set_printoptions")


class Library:
    """What checks refuse an operator with."""

    def __init__(self, namespace: str, kind: str) -> None:
        self._names: list[str] = []

    def impl(self, name: str, function: Callable, key: str = "") -> None:
        """Replace an operator."""
        replaced[name] = function
        self._names.append(name)

    def _destroy(self) -> None:
        for name in self._names:
            replaced.pop(name, None)


library = types.SimpleNamespace(Library=Library)
overrides = types.SimpleNamespace(_len_torch_function_stack=lambda: 0)
_tensor_str = types.SimpleNamespace(PRINT_OPTS=types.SimpleNamespace())
_C = types.SimpleNamespace(
    _autograd=types.SimpleNamespace(_top_saved_tensors_default_hooks=lambda ignore: None)
)
