"""What a grader's process and the fork server agree on: requests, file names, replies.

Imported by both, so it needs nothing but the standard library (see the package's docstring).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.instructor_settings import Limits

# Parts of a kernel's private folder. WORK: its working directory; CONNECTION: its connection file and
# sockets; ENDED: a file that names the limit that ended it; in CONNECTION, ERROR: why it did not start, and FORBIDDING,
# which is there while something is forbidden.
WORK, CONNECTION, ENDED, ERROR = "work", "connection", "ended", "error"
FORBIDDING = "forbidding"
MAX_REQUEST = 1_000_000
# what a fork server's program is: one fork server, or the source of copies
ALONE, COPIES = "alone", "copies"
# The request to kill what ended kernels have left running, and the reply to it. Behind the request may
# stand the id of a user all of whose processes are killed, too.
CLEAN_UP, CLEANED_UP = b"clean up", b"cleaned up"
# the request to limit a process, before a `LimitRequest`, and the replies to it
LIMIT, LIMITED, NOT_LIMITED = b"limit ", b"limited", b"not limited"


@dataclass(frozen=True)
class KernelRequest:
    """What a fork server needs to start a kernel.

    arguments: of ipykernel; folder: the kernel's private folder, with WORK and CONNECTION in it;
    environment: all of its environment variables; hidden: folders that its sandbox shows
    empty: this package's, and the course's; limits: whether it has a sandbox, and how much it may
    use there; user: who it runs as without a sandbox, 0 for the fork server's own user; groups: folders of
    its control group.
    """

    arguments: tuple[str, ...]
    folder: Path
    environment: dict[str, str]
    hidden: tuple[Path, ...]
    limits: Limits
    user: int = 0
    groups: tuple[Path, ...] = ()

    def to_bytes(self) -> bytes:
        """The request as JSON."""
        return json.dumps(asdict(self), default=str).encode()

    @staticmethod
    def from_bytes(message: bytes) -> KernelRequest:
        """What `to_bytes` wrote."""
        read = json.loads(message)
        return KernelRequest(
            tuple(read["arguments"]),
            Path(read["folder"]),
            read["environment"],
            tuple(map(Path, read["hidden"])),
            Limits(**read["limits"]),
            read["user"],
            tuple(map(Path, read["groups"])),
        )


@dataclass(frozen=True)
class LimitRequest:
    """What a process may use from now on, until the next request.

    process: its id; memory: what is private and can be written, in bytes, and then it can start no
    further process or thread. None = as much as it could when it was started.
    """

    process: int
    memory: int | None

    def to_bytes(self) -> bytes:
        """The request, with what tells it from others."""
        return LIMIT + json.dumps(asdict(self)).encode()

    @staticmethod
    def from_bytes(message: bytes) -> LimitRequest:
        """What `to_bytes` wrote."""
        return LimitRequest(**json.loads(message.removeprefix(LIMIT)))
