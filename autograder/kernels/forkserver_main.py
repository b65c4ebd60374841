"""The fork server's own process: imports what kernels need once, then forks for every kernel.

In: requests on a socket (see `protocol`). Out: the id of each kernel's process and a descriptor of it,
with which a grader that isn't its parent can watch it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
from pathlib import Path

from autograder.kernels import linux, own_user, process_limits
from autograder.kernels.protocol import (
    ALONE,
    CLEAN_UP,
    CLEANED_UP,
    CONNECTION,
    ERROR,
    LIMIT,
    LIMITED,
    MAX_REQUEST,
    NOT_LIMITED,
    WORK,
    KernelRequest,
    LimitRequest,
)
from autograder.kernels.sandbox import Sandbox
from autograder.kernels.watcher import Handshake

# descriptors above these are not closed in a kernel; a fork server has few
MAX_DESCRIPTORS = 1024


def serve(channel: socket.socket) -> None:
    """Answer requests until the other end of the channel closes."""
    import autograder.kernels.preload  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # children that have ended need no wait
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # what a kernel leaves running becomes a child of this process, which can find and end it
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    kernels: dict[int, int] = {}
    while message := channel.recv(MAX_REQUEST):
        if message.startswith(CLEAN_UP):
            if user := int(message.removeprefix(CLEAN_UP) or 0):
                own_user.end_processes(user)
            _clean_up(kernels)
            channel.send(CLEANED_UP)
            continue
        if message.startswith(LIMIT):
            channel.send(_limit(LimitRequest.from_bytes(message)))
            continue
        _forget_ended(kernels)
        pid = _fork(KernelRequest.from_bytes(message), channel)
        kernels[pid] = os.pidfd_open(pid)
        socket.send_fds(channel, [str(pid).encode()], [kernels[pid]])
    _clean_up({})


def serve_copies(listener: socket.socket, lifeline: int) -> None:
    """Fork a fork server for everybody who connects; end when the other end of lifeline is closed."""
    import autograder.kernels.preload  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    source = os.getpid()
    while True:
        if lifeline in select.select([listener.fileno(), lifeline], [], [])[0]:
            return
        channel, _ = listener.accept()
        if os.fork() == 0:
            try:
                os.setsid()
                linux.end_with_parent(source)
                listener.close()
                os.close(lifeline)
                own = os.pidfd_open(os.getpid())
                socket.send_fds(channel, [str(os.getpid()).encode()], [own])
                os.close(own)
                serve(channel)
            finally:
                os._exit(0)
        channel.close()


def _fork(request: KernelRequest, channel: socket.socket) -> int:
    """Fork a kernel; returns its process id, with a sandbox that of its watcher."""
    # a kernel puts something else in its place
    parent, end = os.getpid(), os._exit
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        channel.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _become_kernel(request, parent)
        status = 0
    except Exception:
        (request.folder / CONNECTION / ERROR).write_text(traceback.format_exc())
    finally:
        end(status)


def _become_kernel(request: KernelRequest, parent: int) -> None:
    """In the forked child: take the kernel's environment, enter the sandbox, run ipykernel."""
    os.setsid()
    linux.end_with_parent(parent)
    with contextlib.suppress(OSError):
        # some containers refuse it; in the sandbox no keyring can be used anyway
        linux.join_new_keyring()
    os.environ.clear()
    os.environ.update(request.environment)
    # tempfile caches the folder for temporary files; a kernel has its own TMPDIR
    tempfile.tempdir = None
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, MAX_DESCRIPTORS)
    handshake = _shut_in(request)
    os.chdir(request.folder / WORK)
    sys.path[:] = [path for path in sys.path if path]

    import random

    import numpy as np
    from ipykernel.kernelapp import IPKernelApp

    from autograder.runtime import tensors

    # else all kernels would go on from the fork server's state
    random.seed()
    np.random.seed()
    if torch := tensors.loaded():
        torch.default_generator.seed()
    # a student's code finds nothing of the grader but the runtime
    for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
        if not name.startswith("autograder.runtime"):
            del sys.modules[name]
    sys.argv = ["ipykernel_launcher", *request.arguments]
    # what IPKernelApp.launch_instance does, with the handshake in between
    kernel = IPKernelApp.instance()
    kernel.initialize(list(request.arguments))
    if handshake:
        handshake.finish()
    begin = kernel.start
    while True:
        # what a notebook leaves on the loop may stop it; a kernel runs until it is killed
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            begin()
        begin = kernel.io_loop.start


def _shut_in(request: KernelRequest) -> Handshake | None:
    """Shut this process in as a request says; None where nothing does."""
    if request.limits.sandbox:
        return Sandbox(request.folder, request.hidden, request.limits, request.groups).enter()
    if request.user:
        return own_user.enter(request.folder, request.user, request.limits, request.groups)
    return None


def _limit(request: LimitRequest) -> bytes:
    try:
        process_limits.limit(request)
    except OSError:
        return NOT_LIMITED
    return LIMITED


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


def _clean_up(kernels: dict[int, int]) -> None:
    """Kill our children that are no kernels: what kernels that have ended left running."""
    _forget_ended(kernels)
    for _ in range(100):
        left = [pid for pid in _children() if pid not in kernels]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # the children of those become ours
        time.sleep(0.01)


if __name__ == "__main__":
    kind, descriptor = sys.argv[1:]
    own = socket.socket(fileno=int(descriptor))
    serve(own) if kind == ALONE else serve_copies(own, sys.stdin.fileno())
