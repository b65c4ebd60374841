"""The versions that a verdict depends on, of the Python that students' kernels run in."""

from __future__ import annotations

import functools
import json
import platform
import subprocess
import sys
from importlib.metadata import version

from autograder.errors import WorkerPoolError

PACKAGES = ("numpy", "torch")
ASK = (
    "import json, platform; from importlib.metadata import version; version('ipykernel'); "
    f"print(json.dumps({{'python': platform.python_version(), **{{n: version(n) for n in {PACKAGES}}}}}))"
)


@functools.cache
def kernel_versions(python: str) -> dict[str, str]:
    """Versions of Python, NumPy and torch of an interpreter.

    Raises WorkerPoolError when it can't be run or lacks one of them, or ipykernel.
    """
    if python == sys.executable:
        return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    try:
        done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", "") or str(error)
        raise WorkerPoolError(
            f"c.Grader.python in nbgrader_config.py is {python}, which can't be used for students' "
            f"kernels ({detail.strip().rpartition(chr(10))[2]}). It needs numpy, torch and ipykernel."
        ) from error
    return json.loads(done.stdout)
