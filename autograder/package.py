"""Where this package lies, and command lines that run its modules.

It may lie in a checkout, among installed packages, or in a zip file that was sent to a Dask worker.
"""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# the folder or zip file that holds it
PACKAGE_ROOT = PACKAGE.parent
# The package is found by its place, and nothing else is: an installed package's folder on the path would
# give another interpreter this one's NumPy, and come before Python's own modules.
RUN = (
    "import runpy, sys; sys.path.insert(0, sys.argv[1]); import autograder; del sys.path[0], sys.argv[1]; "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def module_command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """A command line that runs a module of this package in an interpreter, from any working directory."""
    return [python, "-c", RUN, str(PACKAGE_ROOT), module, *arguments]


def is_installed() -> bool:
    """Whether this package lies among the packages of an environment."""
    return PACKAGE_ROOT.name.endswith("-packages")
