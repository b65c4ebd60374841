"""Kernels forked from one process that has imported torch and ipykernel already.

Starting a kernel takes a second and a half, most of it imports. Here one helper process imports once
and forks for every kernel. Where the system cannot do that, kernels are started the ordinary way.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from autograder.course import PACKAGE_ROOT as ROOT
from autograder.kernels import sandbox

NAME = "warm-provisioner"
MAX_REQUEST = 1_000_000
START_SECONDS, REPLY_SECONDS = 300, 10
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SINGLE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
MAX_DESCRIPTORS = 1024
ERROR = "error"
# what a student's kernel may know of our environment
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


def kept_environment() -> dict[str, str]:
    """The part of our environment that a student's code may see: no tokens, no paths of ours."""
    return {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}


def _environment() -> dict[str, str]:
    """The environment of a warm process; threads would not survive its forks."""
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return {**kept_environment(), **SINGLE_THREAD, **quiet, "PYTHONPATH": str(ROOT)}


@contextlib.contextmanager
def clean_environment() -> Iterator[None]:
    """For its duration, what is started from here is given no more than a warm process may know."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(_environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def end_with_parent(parent: int) -> None:
    """Let this process be killed when its parent ends, which may have happened since the fork.

    parent: the id of the process that forked this one.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def available() -> bool:
    """Whether this system can fork kernels and watch them."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


class ForkServer:
    """The warm process: fork a kernel for every request on a socket."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if (
            "autograder.kernels.preload" in sys.modules
            and len(list(Path("/proc/self/task").iterdir())) == 1
        ):
            self._process = self._fork(theirs)
        else:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "autograder.kernels.forkserver", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=_environment(),
                start_new_session=True,
            )
        theirs.close()
        self._socket.settimeout(START_SECONDS)

    def _fork(self, theirs: socket.socket) -> ForkedProcess:
        """A warm process that is a copy of this one, which has imported everything."""
        parent = os.getpid()
        pid = os.fork()
        if pid:
            return ForkedProcess(pid, os.pidfd_open(pid))
        try:
            os.setsid()
            end_with_parent(parent)
            descriptor = os.dup2(theirs.fileno(), 3)
            os.closerange(4, MAX_DESCRIPTORS)
            _serve(socket.socket(fileno=descriptor))
        finally:
            os._exit(0)

    def _ask(self, request: dict) -> tuple[bytes, list[int]]:
        """Send a request; raises OSError when the warm process is gone or stopped."""
        self._socket.send(json.dumps(request).encode())
        message, descriptors, _, _ = socket.recv_fds(self._socket, 100, 1)
        if not message:
            raise OSError("the warm process is gone")
        self._socket.settimeout(REPLY_SECONDS)
        return message, descriptors

    def fork(self, request: dict) -> ForkedProcess:
        """Start a kernel; request: see `fork` below."""
        message, descriptors = self._ask(request)
        return ForkedProcess(int(message), descriptors[0])

    def sweep(self) -> None:
        """End everything that kernels have started and that outlived them."""
        self._ask({})

    def end(self) -> None:
        """End the warm process, whatever state it is in."""
        self._process.kill()
        self._process.wait()
        self._socket.close()

    @property
    def alive(self) -> bool:
        """Whether the warm process still runs."""
        return self._process.poll() is None


@functools.cache
def _server_of(pid: int) -> list[ForkServer]:
    return [ForkServer()]


def server() -> ForkServer:
    """This process's warm process, started on first use and again should it have died."""
    held = _server_of(os.getpid())
    if not held[0].alive:
        held[0] = ForkServer()
    return held[0]


def fork(request: dict) -> ForkedProcess:
    """Start a kernel; a warm process that somebody has killed or stopped is replaced.

    request: {"argv": the kernel's arguments, "folder": its working directory, "environment", "seconds":
    what it may compute in a room of its own, or None for no room}.
    """
    warm = server()
    try:
        return warm.fork(request)
    except OSError:
        warm.end()
        return server().fork(request)


def sweep() -> None:
    """End everything that kernels have started and that outlived them."""
    warm = server()
    try:
        warm.sweep()
    except OSError:
        warm.end()


class ForkedProcess:
    """A process that isn't our child, with the methods of Popen that jupyter_client uses."""

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


class WarmProvisioner(LocalProvisioner):
    """jupyter_client's local provisioner, with a fork in place of a start."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> dict:
        """Fork a kernel with the connection file that cmd names."""
        argv = cmd[cmd.index("ipykernel_launcher") + 1 :]
        seconds = self.kernel_spec.metadata["seconds"]
        request = {"argv": argv, "folder": options["cwd"], "environment": options["env"]}
        self.process = fork(request | {"seconds": seconds})
        self.pid = self.pgid = self.process.pid
        self.cwd = options["cwd"]
        return self.connection_info


def kernel_spec(seconds: float | None) -> KernelSpec:
    """The course's kernel: this Python, warm where the system allows it.

    seconds: of computing in a room of its own (see `sandbox`), or None for no room.
    """
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    metadata: dict[str, Any] = {}
    if available():
        factory = KernelProvisionerFactory.instance()
        entry = EntryPoint(
            NAME, "autograder.kernels.forkserver:WarmProvisioner", factory.GROUP_NAME
        )
        factory.provisioners.setdefault(NAME, entry)
        metadata = {"kernel_provisioner": {"provisioner_name": NAME}, "seconds": seconds}
    return KernelSpec(argv=argv, display_name="Python 3", language="python", metadata=metadata)


def _become_kernel(request: dict, parent: int) -> None:
    """In the forked child: private folder and environment, no way back, then ipykernel's main."""
    os.setsid()
    end_with_parent(parent)
    os.environ.clear()
    os.environ.update(request["environment"])
    # a folder for files that pass is remembered once it was asked for, and ours is not the kernel's
    tempfile.tempdir = None
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, MAX_DESCRIPTORS)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    folder, seconds = Path(request["folder"]), request["seconds"]
    words = sandbox.enter(folder.parent, seconds) if seconds else None
    os.chdir(folder)
    sys.path[:] = [path for path in sys.path if path not in ("", str(ROOT))]

    import random

    import numpy as np
    import torch
    from ipykernel.kernelapp import IPKernelApp

    random.seed()
    np.random.seed()
    torch.default_generator.seed()
    # a student's code finds nothing of the grader but the runtime
    for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
        if not name.startswith("autograder.runtime"):
            del sys.modules[name]
    sys.argv = ["ipykernel_launcher", *request["argv"]]
    kernel = IPKernelApp.instance()
    kernel.initialize(request["argv"])
    if words is not None:
        sandbox.settled(words)
    kernel.start()


def _children() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = path.read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(path.parent.name))
    return found


def _forget_ended(kernels: dict[int, int]) -> None:
    for pid, descriptor in list(kernels.items()):
        if select.select([descriptor], [], [], 0)[0]:
            os.close(kernels.pop(pid))


def _sweep(kernels: dict[int, int]) -> None:
    """Kill our children that are no kernels: what kernels that have ended left behind."""
    _forget_ended(kernels)
    for _ in range(100):
        left = [pid for pid in _children() if pid not in kernels]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _serve(channel: socket.socket) -> None:
    """The warm process: import, then fork for every request until the other end closes."""
    import autograder.kernels.preload  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    kernels: dict[int, int] = {}
    while message := channel.recv(MAX_REQUEST):
        request = json.loads(message)
        if not request:
            _sweep(kernels)
            channel.send(b"swept")
            continue
        _forget_ended(kernels)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                channel.close()
                signal.signal(signal.SIGINT, signal.default_int_handler)
                _become_kernel(request, parent)
                status = 0
            except Exception:
                place = Path(request["folder"]).parent / sandbox.KERNEL / ERROR
                place.write_text(traceback.format_exc())
            finally:
                os._exit(status)
        kernels[pid] = os.pidfd_open(pid)
        socket.send_fds(channel, [str(pid).encode()], [kernels[pid]])
    _sweep({})


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
