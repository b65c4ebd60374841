"""Processes that students' code has left running."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

from autograder.kernels.student_kernel import FOLDER

# in the command line of what attacks leave running
LEFT_BEHIND = "left-behind-by-an-attack"
# hundreds of processes that were killed take a while to be gone on a busy machine; what attacks leave
# behind sleeps for 300 seconds or more
PATIENCE_SECONDS = 60


def left_running() -> set[int]:
    """Ids of processes that belong to a student's kernel whose folder is gone already."""
    found = _running_now()
    until = time.monotonic() + PATIENCE_SECONDS
    while found and time.monotonic() < until:
        time.sleep(0.2)
        found &= _running_now()
    return found


def _running_now() -> set[int]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        # it may end while it is looked at
        with contextlib.suppress(OSError):
            names = [str((process / "cwd").readlink()), (process / "environ").read_text()]
            folder = re.search(rf"/[^\0=:]*/{FOLDER}\w+", "\0".join(names))
            left = LEFT_BEHIND in (process / "cmdline").read_text()
            if left or (folder and not Path(folder[0]).exists()):
                found.add(int(process.name))
    return found
