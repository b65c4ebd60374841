"""Fork servers, as the grader sees them: processes that have imported much and fork for every kernel.

Starting a kernel takes a second and a half, most of it imports. A fork server (`forkserver_main`)
imports once. Where the system can't do that, `available` says so, and kernels are started the ordinary
way.

In: `KernelRequest`s. Out: `ForkedProcess`es.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from autograder.kernels.protocol import (
    ALONE,
    CLEAN_UP,
    COPIES,
    LIMITED,
    KernelRequest,
    LimitRequest,
)
from autograder.package import PACKAGE_ROOT, module_command

START_SECONDS, REPLY_SECONDS = 300, 10
SINGLE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# glibc's malloc keeps what it cuts off an aligned block in a cache of the thread, and the block is too small
# for the next one of its size (glibc's bug 30723): code that makes tiles would need more and more memory.
NO_THREAD_CACHE = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
# sets of texts have the same order in all kernels
HASH_SEED = {"PYTHONHASHSEED": "0"}
MAX_WAITING = 128
MAIN = "autograder.kernels.forkserver_main"
# what a student's kernel may know of our environment; no tokens, no paths of ours
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH")


def kept_environment() -> dict[str, str]:
    """The part of our environment that a student's code may see."""
    return {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}


def _environment() -> dict[str, str]:
    """The environment of a fork server; threads would not survive its forks."""
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return {**kept_environment(), **SINGLE_THREAD, **NO_THREAD_CACHE, **HASH_SEED, **quiet}


@contextlib.contextmanager
def clean_environment() -> Iterator[None]:
    """For its duration, processes started from here get no more than a fork server may know."""
    before = dict(os.environ)
    os.environ.clear()
    # multiprocessing's own server of forks looks for our modules there
    os.environ.update({**_environment(), "PYTHONPATH": str(PACKAGE_ROOT)})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def available() -> bool:
    """Whether this system can fork kernels and watch them."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


class ForkServer:
    """A fork server, made by `started` or `copied`."""

    def __init__(self, process: subprocess.Popen | ForkedProcess, channel: socket.socket) -> None:
        self._process, self._channel = process, channel
        # the first reply waits for the imports
        channel.settimeout(START_SECONDS)

    @staticmethod
    def started(python: str) -> ForkServer:
        """A new process of an interpreter."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                module_command(MAIN, ALONE, str(theirs.fileno()), python=python),
                pass_fds=[theirs.fileno()],
                env=_environment(),
                start_new_session=True,
            )
        return ForkServer(process, ours)

    @staticmethod
    def copied(path: Path) -> ForkServer:
        """A copy of the process that a `ForkServerSource` has started; raises OSError.

        path: the source's socket.
        """
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # the source may still be importing
        channel.settimeout(START_SECONDS)
        channel.connect(str(path))
        message, descriptors, _, _ = socket.recv_fds(channel, 100, 1)
        if not message:
            raise OSError("the source of fork servers has ended")
        return ForkServer(ForkedProcess(int(message), descriptors[0]), channel)

    def _ask(self, request: bytes) -> tuple[bytes, list[int]]:
        """Send a request; raises OSError when the fork server has ended or was stopped."""
        self._channel.send(request)
        reply, descriptors, _, _ = socket.recv_fds(self._channel, 100, 1)
        if not reply:
            raise OSError("the fork server has ended")
        self._channel.settimeout(REPLY_SECONDS)
        return reply, descriptors

    def start_kernel(self, request: KernelRequest) -> ForkedProcess:
        """Fork a kernel; raises OSError."""
        reply, descriptors = self._ask(request.to_bytes())
        return ForkedProcess(int(reply), descriptors[0])

    def clean_up(self, user: int = 0) -> None:
        """End everything that kernels have started and that outlived them; raises OSError.

        user: whose processes are ended, too, whoever has started them; 0 for nobody's.
        """
        self._ask(CLEAN_UP + (b" %d" % user if user else b""))

    def limit(self, request: LimitRequest) -> bool:
        """Limit a process; whether that was possible. Raises OSError."""
        return self._ask(request.to_bytes())[0] == LIMITED

    def end(self) -> None:
        """End the fork server, whatever state it is in."""
        self._process.kill()
        self._process.wait()
        self._channel.close()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None


class ForkServerSource:
    """A process that has imported all that kernels need, and is copied for every worker of a pool.

    It is started as a new program and never told anything, so neither it nor its copies hold a secret:
    a worker's own copy would have the grader's command line and the pool's key on its stack. The copies
    share its memory. It ends with the process that has started it.

    python: the interpreter; path: where its socket goes, in a folder that is this user's alone.
    """

    def __init__(self, python: str, path: Path) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(path))
            listener.listen(MAX_WAITING)
            descriptor = listener.fileno()
            self._process = subprocess.Popen(
                module_command(MAIN, COPIES, str(descriptor), python=python),
                stdin=subprocess.PIPE,
                pass_fds=[descriptor],
                env=_environment(),
                start_new_session=True,
            )
        self._path = path

    def end(self) -> None:
        """End it and all its copies."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._path.unlink(missing_ok=True)


# This process's fork servers, by interpreter, and the sockets of sources to copy them from.
_servers: dict[str, ForkServer] = {}
_sources: dict[str, Path] = {}
if available():
    # a forked child must not share its parent's connections
    os.register_at_fork(after_in_child=_servers.clear)


def copy_from(python: str, source: Path) -> None:
    """Let this process's fork servers for an interpreter be copies; source: a `ForkServerSource`'s path."""
    _sources[python] = source
    server(python)


def server(python: str = sys.executable) -> ForkServer:
    """This process's fork server for an interpreter, made on first use or when it has ended."""
    if python not in _servers or not _servers[python].alive:
        # a student's code without a sandbox may have ended the source
        with contextlib.suppress(OSError, KeyError):
            _servers[python] = ForkServer.copied(_sources[python])
            return _servers[python]
        _servers[python] = ForkServer.started(python)
    return _servers[python]


def start_kernel(python: str, request: KernelRequest) -> ForkedProcess:
    """Start a kernel; a fork server that was killed or stopped, as by a student's code, is replaced."""
    used = server(python)
    try:
        return used.start_kernel(request)
    except OSError:
        used.end()
        return server(python).start_kernel(request)


def limit(python: str, request: LimitRequest) -> bool:
    """Limit what a kernel may use from now on; whether that was possible."""
    used = server(python)
    try:
        return used.limit(request)
    except OSError:
        used.end()
        return False


def clean_up(python: str, user: int = 0) -> None:
    """End everything that kernels have started and that outlived them; user: as for `ForkServer`."""
    used = server(python)
    try:
        used.clean_up(user)
    except OSError:
        used.end()


class ForkedProcess:
    """A process that isn't our child, with the methods of Popen that jupyter_client uses.

    pid: its process id; descriptor: of its process, to be polled and signalled.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """None while it runs; its status is not known to us, so 0 afterwards."""
        if self.returncode is None and select.select([self._descriptor], [], [], 0)[0]:
            self.returncode = 0
            os.close(self._descriptor)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        if self.returncode is None and not select.select([self._descriptor], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("kernel", timeout or 0)
        return self.poll() or 0

    def send_signal(self, number: int) -> None:
        """Signal it, if it still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it, and what it has started in its own session."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self.send_signal(signal.SIGKILL)
