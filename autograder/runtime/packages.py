"""Which packages a student's code may count on, and which it uses beside them."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .compare import Difference

# what runs the notebook, and puts names of its own into it
NOTEBOOK = ("IPython", "ipykernel", "ipywidgets")


def not_offered(names: Mapping[str, Any], offered: Sequence[str]) -> list[str]:
    """Installed packages that names of a notebook come from, without those that are offered.

    A file of the student's own is none, nor is what comes with Python.
    """
    known = {*offered, *NOTEBOOK, *sys.stdlib_module_names}
    modules = [
        value.__name__ if isinstance(value, types.ModuleType) else value.__module__
        for value in names.values()
        if isinstance(value, types.ModuleType | types.FunctionType | type)
    ]
    roots = {str(module).partition(".")[0] for module in modules}
    return sorted(root for root in roots - known if _is_installed(sys.modules.get(root)))


def _is_installed(module: types.ModuleType | None) -> bool:
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", [])]
    return any({"site-packages", "dist-packages"} & set(Path(p).parts) for p in places if p)


def with_offered(problem: Difference, offered: Sequence[str]) -> Difference:
    """A difference that is a missing package, with the packages that are offered."""
    found = problem.parameters
    missing = found.get("name") if problem.aspect == "error" else found.get("error", "")
    if not str(missing).startswith("ModuleNotFoundError"):
        return problem
    return replace(problem, parameters={**found, "offered": list(offered)})
