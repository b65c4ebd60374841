"""What the stand-in lacks never leads to a verdict: it is noted by name, and the page says so.

Each function that readers can call is `offered`: an exception that isn't marked as one of torch's comes of a
use that nobody thought of here, and becomes a refusal too.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

# names that somebody asked for, in order; the shell of the page puts its own dictionary here
noted: dict[str, None] = {}
# which torch takes as well
NUMPYS_NAMES = {"axis": "dim", "keepdims": "keepdim"}
NUMPYS = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)


class NotAvailable(Exception):
    """The page lacks something."""


def refuse(what: str) -> NoReturn:
    """Note what is lacking, and raise NotAvailable."""
    noted[what] = None
    raise NotAvailable(f"{what} is not available in the page")


def refuse_if(condition: Any, what: str) -> None:
    """The same where a condition holds."""
    if condition:
        refuse(what)


def torch_raises(message: str, kind: type[Exception] = RuntimeError) -> NoReturn:
    """Raise an exception that torch raises as well, with its type and message."""
    error = kind(message)
    vars(error)["of_torch"] = True
    raise error from None


def offered(function: Callable) -> Callable:
    """A function that acts as torch's does, without NumPy's warnings, or refuses."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                given = {NUMPYS_NAMES.get(name, name): value for name, value in named.items()}
                return function(*arguments, **given)
        except NUMPYS as error:
            if "of_torch" in vars(error):
                raise
            refuse(f"torch.{function.__name__} with these arguments")

    return call


def lacks_attributes(what: str) -> Callable[[Any, str], NoReturn]:
    """A class's `__getattr__`: notes what isn't there."""
    find = lacks(what)
    return lambda self, name: find(name)


def lacks(module: str) -> Callable[[str], NoReturn]:
    """A module's `__getattr__`: notes what isn't there."""

    def find(name: str) -> NoReturn:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        refuse(f"{module}.{name}" if name != "__all__" else f"from {module} import *")

    return find


class Names(types.SimpleNamespace):
    """A module's names; all others refuse."""

    __getattr__ = lacks_attributes("a module of torch's:")
