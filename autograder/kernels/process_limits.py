"""The resource limits of another process, set from outside: what a fork server does for a grader."""

from __future__ import annotations

import contextlib
import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path

from autograder.kernels.protocol import LimitRequest

IDS = re.compile(r"^[UG]id:\t(\d+)", re.MULTILINE)


def limit(request: LimitRequest) -> None:
    """Set the soft limits of a process; its hard limits stay, so that this can be undone.

    A sandboxed kernel can't raise its soft limits (see `seccomp`). Raises OSError.
    """
    with _ids_of(request.process):
        for what, most in ((resource.RLIMIT_DATA, request.memory), (resource.RLIMIT_NPROC, 0)):
            _, hard = resource.prlimit(request.process, what)
            soft = hard if request.memory is None or most is None else most
            resource.prlimit(request.process, what, (soft, hard))


@contextlib.contextmanager
def _ids_of(process: int) -> Iterator[None]:
    """Have the real user and group of a process, as Linux asks of whoever sets its limits.

    Root may do so without that, but not in a container that leaves it no CAP_SYS_RESOURCE.
    """
    user, group = map(int, IDS.findall(Path(f"/proc/{process}/status").read_text()))
    own_user, own_group = os.getuid(), os.getgid()
    os.setresgid(group, -1, -1)
    os.setresuid(user, -1, -1)
    try:
        yield
    finally:
        os.setresuid(own_user, -1, -1)
        os.setresgid(own_group, -1, -1)
