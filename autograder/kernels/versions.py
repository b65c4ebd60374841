"""The versions that a verdict depends on, of the Python that students' kernels run in."""

from __future__ import annotations

import functools
import importlib.util
import json
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from autograder.errors import WorkerPoolError
from autograder.installing import how_to_install
from autograder.instructor_settings import CONFIG, Settings
from autograder.programs import VERSIONED

ASK = (
    "import json, platform, sys; from importlib.metadata import version; version('ipykernel'); "
    "print(json.dumps({'python': platform.python_version(), **{n: version(n) for n in sys.argv[1:]}}))"
)
FIND = "import importlib.util, sys; print(*[n for n in sys.argv[1:] if not importlib.util.find_spec(n)])"


@functools.cache
def _missing(python: str, packages: tuple[str, ...]) -> list[str]:
    if python == sys.executable:
        return [name for name in packages if importlib.util.find_spec(name) is None]
    done = subprocess.run([python, "-c", FIND, *packages], capture_output=True, text=True)
    return done.stdout.split()


def refuse_missing_packages(settings: Settings) -> None:
    """Raise WorkerPoolError when students' Python lacks a package that they are told is there."""
    kernel_versions(settings.python, ("numpy",))
    if missing := _missing(settings.python, settings.packages):
        names = ", ".join(missing)
        raise WorkerPoolError(
            f"Students may import {names}, says c.Grader.packages in {CONFIG}, but "
            f"{settings.python} does not have it. Install it there "
            f"({how_to_install(*missing, python=settings.python)}), or set c.Grader.packages without it and "
            "build the exercises again."
        )


@functools.cache
def kernel_versions(python: str, packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of Python and of those packages of an interpreter that compute what is compared.

    packages: what an exercise counts on. Raises WorkerPoolError when the interpreter can't be run or lacks
    one of them, or ipykernel.
    """
    computing = [name for name in VERSIONED if name in packages]
    try:
        if python == sys.executable:
            return {"python": platform.python_version(), **{n: version(n) for n in computing}}
        command = [python, "-c", ASK, *computing]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError, PackageNotFoundError) as error:
        detail = getattr(error, "stderr", "") or str(error)
        raise WorkerPoolError(
            f"Students' kernels run in {python} (c.Grader.python in {CONFIG}), which can't be "
            f"used: {detail.strip().rpartition(chr(10))[2]}. It needs {', '.join(computing)} and ipykernel."
        ) from error
    return json.loads(done.stdout)
