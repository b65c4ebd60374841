"""The two processes of a sandbox that are ours: its watcher, and its first process.

A sandboxed kernel has this line of ancestors; each of them ends when the one before it ends:

    fork server -> watcher -> first process of the PID namespace -> kernel (the student's code)

The watcher is outside the PID namespace and counts memory. The first process is inside: when it ends,
Linux kills every process of the namespace, also one that has left its session or that has cleared its
own parent-death signal. The student's code can neither signal nor trace it.

The kernel and its watcher talk over a pair of sockets, the `Handshake`: ipykernel binds its sockets in
the folder CONNECTION, which the grader can see. So the kernel says when it has bound them (LISTENING),
and runs no code before the watcher has made that folder read-only and says so (READ_ONLY). Before that it sends, with
CALLS, the descriptor on which the watcher is asked about system calls: it refuses them as long as the grader has put
FORBIDDING into that folder.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import select
import signal
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.kernels.mounts import SHARED_MEMORY, make_read_only
from autograder.kernels.protocol import CONNECTION, FORBIDDING
from autograder.kernels.seccomp import answer

LOOK_SECONDS = 0.05
# Linux keeps about 400 bytes for each mapping of a process, which none of its figures shows. So many of all processes
# of a sandbox are too many, and at every so many looks they are counted: a notebook with PyTorch has 1,500.
MAX_MAPPINGS, LOOKS = 500_000, 20
LISTENING, READ_ONLY, CALLS = b"l", b"r", b"c"
FIRST = "1"
# in /proc/PID/status, which needs no privileges to be read, unlike smaps
SOCKETS = re.compile(rb"^sockets: used (\d+)$", re.MULTILINE)
BUFFER_SIZES = ("wmem_default", "rmem_default")
PRIVATE_KILOBYTES = re.compile(rb"^(?:RssAnon|VmSwap|VmPTE):\s+(\d+) kB", re.MULTILINE)


class Handshake:
    """The kernel's end of the sockets between it and its watcher."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def send_calls(self, descriptor: int | None) -> None:
        """Hand over the descriptor on which system calls wait for an answer, if there is one."""
        if descriptor is not None:
            socket.send_fds(self._channel, [CALLS], [descriptor])
            os.close(descriptor)

    def finish(self) -> None:
        """Say that all sockets are bound, and wait until their folder is read-only; ends this process
        if there is no watcher any more."""
        self._channel.send(LISTENING)
        if self._channel.recv(1) != READ_ONLY:
            os._exit(1)
        self._channel.close()


@dataclass(frozen=True)
class Watcher:
    """What the watcher needs to know.

    first: the id of the namespace's first process; channel: the other end of the kernel's `Handshake`;
    folder: the kernel's private folder; ended: a file descriptor to write the reason of its end to;
    memory_bytes: what all processes, files and sockets of the sandbox may use together; socket_bytes: what
    one socket may hold.
    """

    first: int
    channel: socket.socket
    folder: Path
    ended: int
    memory_bytes: int
    socket_bytes: int

    def run(self) -> None:
        """Watch until the sandbox has ended; end it when it uses too much memory."""
        # interrupts go to the whole process group; `run_first` passes them on
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        first = os.pidfd_open(self.first)
        waiting: list = [first, self.channel]
        # memory counts from the moment when student's code can run
        seconds = None
        for look in itertools.count():
            found = select.select(waiting, [], [], seconds)[0]
            if first in found:
                return
            if self.channel in found:
                said, calls, *_ = socket.recv_fds(self.channel, 1, 1)
                if said == CALLS:
                    waiting += calls
                    continue
                waiting.remove(self.channel)
                seconds = LOOK_SECONDS
                if said == LISTENING:
                    make_read_only(self.folder / CONNECTION)
                    self.channel.send(READ_ONLY)
                continue
            answer_all(found, self.folder)
            # also after an answer: many calls must not keep it from looking
            if seconds and (
                memory_in_use(self.socket_bytes) > self.memory_bytes
                or (look % LOOKS == 0 and have_too_many_mappings(_processes()))
            ):
                os.write(self.ended, b"memory")
                os.kill(self.first, signal.SIGKILL)
                return


def answer_all(calls: Iterable[int], folder: Path) -> None:
    """Answer system calls, on these descriptors, by what the grader says in a kernel's private folder."""
    for call in calls:
        answer(call, refused=(folder / CONNECTION / FORBIDDING).exists())


def run_first(kernel: int, ended: int, cpu_seconds: int) -> None:
    """The work of the namespace's first process: wait until the kernel ends.

    kernel: its process id, and that of its process group; ended: as for `Watcher`; cpu_seconds: of
    computing after which the system kills the kernel.
    """

    def interrupt(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(kernel, signal.SIGINT)

    signal.signal(signal.SIGINT, interrupt)
    pid = None
    # processes whose parents have ended become children of this one
    while pid != kernel:
        pid, status, used = os.wait4(-1, 0)
    # the system counts by ticks, so on a busy machine it may end a process early
    if os.WIFSIGNALED(status) and used.ru_utime + used.ru_stime > 0.5 * cpu_seconds:
        os.write(ended, b"time")


def memory_in_use(socket_bytes: int) -> int:
    """Bytes in memory of all processes in the sandbox, of its one tmpfs, and at most of its sockets.

    Other memory can't be had: see seccomp.REFUSED_CALLS and REFUSED_VALUES. Of pipes Linux gives a user 64 MB, and
    for watches of epoll 4 % of its memory.
    """
    written = os.statvfs(SHARED_MEMORY)
    files = (written.f_blocks - written.f_bfree) * written.f_frsize
    sockets = socket_bytes * sockets_in_use(Path("/proc", FIRST, "net", "sockstat"))
    return files + sockets + sum(map(private_memory, _processes()))


def _processes() -> list[Path]:
    """The folders in /proc of the sandbox's processes but the first."""
    names = filter(str.isdigit, os.listdir("/proc"))  # noqa: PTH208 - twenty times a second
    return [Path("/proc", name) for name in names if name != FIRST]


def have_too_many_mappings(processes: Iterable[Path]) -> bool:
    """Whether some processes have more than MAX_MAPPINGS; those that can't be looked into count nothing."""
    left = MAX_MAPPINGS
    for process in processes:
        with contextlib.suppress(OSError), (process / "maps").open("rb") as maps:
            while left >= 0 and (piece := maps.read(1 << 16)):
                left -= piece.count(b"\n")
    return left < 0


def sockets_in_use(statistics: Path) -> int:
    """How many sockets a network namespace has, also those that no process has open any more."""
    return int(SOCKETS.findall(statistics.read_bytes())[0])


def most_of_a_socket() -> int:
    """The bytes that a socket may hold in each direction, unless its buffers are made larger."""
    return max(int(Path("/proc/sys/net/core", name).read_text()) for name in BUFFER_SIZES)


def private_memory(process: Path) -> int:
    """Bytes that a process has in memory or swap and that no file and no tmpfs holds, with the tables of its pages."""
    # it or any of its threads may end at any time
    with contextlib.suppress(OSError):
        # a process whose first thread has ended shows nothing itself, but its other threads do
        for shown in itertools.chain([process], process.glob("task/*")):
            found = []
            with contextlib.suppress(OSError):
                found = PRIVATE_KILOBYTES.findall((shown / "status").read_bytes())
            if found:
                return 1024 * sum(map(int, found))
    return 0
