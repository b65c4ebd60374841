"""What a grader's process and the fork server agree on: requests, file names, replies.

Imported by both, so it needs nothing but the standard library (see the package's docstring).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.instructor_settings import Limits

# Parts of a kernel's private folder. WORK: its working directory; CONNECTION: its connection file and
# sockets; ENDED: a file that names the limit that ended it; in CONNECTION, ERROR: why it did not start.
WORK, CONNECTION, ENDED, ERROR = "work", "connection", "ended", "error"
MAX_REQUEST = 1_000_000
# what a fork server's program is: one fork server, or the source of copies
ALONE, COPIES = "alone", "copies"
# the request to kill what ended kernels have left running, and the reply to it
CLEAN_UP, CLEANED_UP = b"clean up", b"cleaned up"


@dataclass(frozen=True)
class KernelRequest:
    """What a fork server needs to start a kernel.

    arguments: of ipykernel; folder: the kernel's private folder, with WORK and CONNECTION in it;
    environment: all of its environment variables; hidden: the folder of this package, which is neither
    on the kernel's path nor shown in its sandbox; limits: whether it has a sandbox, and how much it may
    use there.
    """

    arguments: tuple[str, ...]
    folder: Path
    environment: dict[str, str]
    hidden: Path
    limits: Limits

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
            Path(read["hidden"]),
            Limits(**read["limits"]),
        )
