"""The memory of a kernel in a sandbox or of a user of its own, measured and limited by its grader, from outside."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

from autograder.kernels import forkserver
from autograder.kernels.processor_time import descendants
from autograder.kernels.protocol import LimitRequest

# Bytes by which a notebook may have grown before a line whose memory is limited: SciPy and Matplotlib
# take 100 million, buffers of a matrix product 30 million.
NOTEBOOK_BYTES = 240_000_000
# what `KernelMemory.limited` gives when a notebook has grown by more, has other processes, or has ended
HELD, PROCESSES, ENDED = "memory_held", "memory_processes", "memory_ended"
# the place in /proc/PID/statm of pages that are private and can be written
DATA = 5


class KernelMemory:
    """The private, writable memory of a kernel.

    It is that part of the address space which an array can be in, whether it was touched or not. The
    rest is libraries, what malloc has reserved for its threads, and shared files, of which a sandbox has
    no more than its limit.

    python: the kernel's interpreter; watcher: the id of the outermost process that watches it. Make it
    before the kernel has run any of a student's code: a limit is added to what it has by then, so that
    a buffer that a notebook has made before is part of what it may have, not in addition to it.
    """

    def __init__(self, python: str, watcher: int) -> None:
        self._python, self._watcher = python, watcher
        processes = self._processes()
        # those that watch the kernel, and the kernel, as long as a notebook starts none
        self._n_processes, self._kernel = len(processes), processes[-1]
        self._at_start = self._size()
        self.can_be_limited = self._limit(None)

    def _processes(self) -> list[int]:
        """From the outermost to the innermost."""
        return [int(name) for name, _ in descendants(self._watcher)] or [self._watcher]

    def _size(self) -> int:
        """Bytes; 0 when the kernel has ended."""
        with contextlib.suppress(OSError):
            pages = Path(f"/proc/{self._kernel}/statm").read_text().split()[DATA]
            return int(pages) * resource.getpagesize()
        return 0

    def _limit(self, size: int | None) -> bool:
        return forkserver.limit(self._python, LimitRequest(self._kernel, size))

    @contextlib.contextmanager
    def limited(self, megabytes: int) -> Iterator[str]:
        """For its duration, the kernel gets at most so much more memory, and starts no thread or process.

        Gives HELD where its notebook has grown too much before, PROCESSES where another process of the
        sandbox is running, ENDED where the kernel isn't any more, and "" otherwise.
        """
        most = self._at_start + NOTEBOOK_BYTES
        if self._size() > most:
            yield HELD
            return
        limited = self._limit(min(self._size(), most) + megabytes * 1_000_000)
        try:
            # once more: only from now on can there be no more of either
            if not limited:
                yield ENDED
            elif len(self._processes()) > self._n_processes:
                yield PROCESSES
            else:
                yield HELD if self._size() > most + megabytes * 1_000_000 else ""
        finally:
            self._limit(None)
