"""A user of its own for a student's kernel, for a grader who is root where namespaces are refused.

In: the id of a user that nothing else belongs to. Effect: after its fork from the fork server, a kernel
runs as this user, without privileges, with resource limits and the sandbox's filter of system calls,
which here refuses the network, too. It sees the machine's files, and can read and write what anybody
may; so whatever is secret must be closed to others. Ancestors:

    fork server -> watcher -> kernel (the student's code)

The watcher counts the memory of all processes of the user, and that of sockets. What a kernel leaves running is
found by its user, wherever it has gone, and ended by `end_processes`.
"""

from __future__ import annotations

import contextlib
import grp
import math
import os
import pwd
import re
import secrets
import select
import signal
import socket
import time
from pathlib import Path

from autograder.errors import SandboxError
from autograder.instructor_settings import Limits
from autograder.kernels import control_group, linux
from autograder.kernels.protocol import CONNECTION, ENDED, WORK
from autograder.kernels.sandbox import (
    FIRST_USER,
    USERS,
    drop_privileges,
    exiting,
    limit_resources,
)
from autograder.kernels.seccomp import ask_about_system_calls, refuse_system_calls
from autograder.kernels.watcher import (
    CALLS,
    LISTENING,
    LOOK_SECONDS,
    LOOKS,
    READ_ONLY,
    Handshake,
    answer_all,
    have_too_many_mappings,
    most_of_a_socket,
    private_memory,
    sockets_in_use,
)

# ids to choose from, the first that are mapped: a container may have only those below 65,536
RANGES = (range(FIRST_USER, FIRST_USER + USERS, 2), range(20_000, 60_000, 2))
# real, effective, saved and file system user of a process
IDS = re.compile(r"^Uid:\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$", re.MULTILINE)
END_SECONDS = 5.0


def unused_user() -> int:
    """The id of a user that no account and no process has; nor has any the id after it.

    Raises SandboxError when the grader can't give processes to other users.
    """
    if os.geteuid() != 0:
        raise SandboxError("Only root can run students' code as another user.")
    taken = {account.pw_uid for account in pwd.getpwall()} | {g.gr_gid for g in grp.getgrall()}
    taken = taken.union(*map(_users_of, _processes()))
    for ids in RANGES:
        if all(
            is_mapped(ids, Path(f"/proc/self/{kind}_map").read_text()) for kind in ("uid", "gid")
        ):
            free = [user for user in ids if not {user, user + 1} & taken]
            return secrets.choice(free)
    raise SandboxError("This container has no user ids that are not used.")


def is_mapped(ids: range, id_map: str) -> bool:
    """Whether a range of ids, and the one after it, exist in a user namespace; id_map: as /proc shows it."""
    lines = [list(map(int, line.split())) for line in id_map.splitlines()]
    mapped = [range(first, first + count) for first, _, count in lines]
    return any(ids[0] in one and ids[-1] + 1 in one for one in mapped)


def _processes() -> list[Path]:
    return list(Path("/proc").glob("[0-9]*"))


def _users_of(process: Path) -> set[int]:
    """The users of a process; none when it has gone. Read from a file that belongs to root always."""
    with contextlib.suppress(OSError):
        if ids := IDS.search((process / "status").read_text()):
            return set(map(int, ids.groups()))
    return set()


def processes_of(user: int) -> list[Path]:
    """The folders in /proc of a user's processes, also of those that have ended and wait for a parent."""
    return [process for process in _processes() if user in _users_of(process)]


def enter(folder: Path, user: int, limits: Limits, groups: tuple[Path, ...] = ()) -> Handshake:
    """Let this process, which must be root and have one thread, go on as another user, for good.

    folder: the kernel's private folder, root's; what lies in it becomes the user's; groups: folders of its
    control group. Only a child of this process returns; this process stays to watch it. Raises OSError.
    """
    ended = os.open(folder / ENDED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    folder.chmod(0o711)
    for path in folder.rglob("*"):
        if path != folder / ENDED:
            os.chown(path, user, user, follow_symlinks=False)
    ours, theirs = socket.socketpair()
    watcher = os.getpid()
    # what the kernel leaves running stays a descendant of the watcher, so that its time is counted
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    cpu_seconds = math.ceil(limits.notebook_seconds)
    kernel = os.fork()
    if kernel:
        theirs.close()
        with exiting():
            try:
                reason = _watch(kernel, ours, folder, user, limits)
                os.write(ended, reason.encode())
            finally:
                end_processes(user)
    ours.close()
    os.close(ended)
    control_group.join(groups)
    os.setsid()
    # should memory run out, the system is to end the student's code, not the grader
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    drop_privileges(user)
    # a change of the user clears it
    linux.end_with_parent(watcher)
    # afterwards it can't change its limits any more
    limit_resources(limits, cpu_seconds)
    handshake = Handshake(theirs)
    handshake.send_calls(ask_about_system_calls())
    refuse_system_calls(network=False)
    os.chdir(folder / WORK)
    return handshake


def _watch(kernel: int, channel: socket.socket, folder: Path, user: int, limits: Limits) -> str:
    """Watch until the kernel has ended, or uses too much memory; returns the limit that it reached."""

    def interrupt(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(kernel, signal.SIGINT)

    # interrupts go to this process's group, and the kernel has another
    signal.signal(signal.SIGINT, interrupt)
    waiting: list = [channel]
    statistics, most = Path("/proc/self/net/sockstat"), most_of_a_socket()
    # without a network namespace others' sockets are among them; those from before are not the kernel's
    before = sockets_in_use(statistics)
    looks = 0
    while True:
        looks += 1
        found = select.select(waiting, [], [], LOOK_SECONDS)[0]
        if channel not in found:
            answer_all(found, folder)
        else:
            said, calls, *_ = socket.recv_fds(channel, 1, 1)
            if said == CALLS:
                waiting += calls
                continue
            waiting.remove(channel)
            if said == LISTENING:
                # nothing is put among the grader's sockets from now on
                os.chown(folder / CONNECTION, 0, 0)
                (folder / CONNECTION).chmod(0o755)
                channel.send(READ_ONLY)
        pid = None
        while pid != 0:
            # processes whose parents have ended become children of this one
            pid, status, used = os.wait4(-1, os.WNOHANG)
            if pid == kernel:
                computed = used.ru_utime + used.ru_stime
                stopped = os.WIFSIGNALED(status) and computed > 0.5 * limits.notebook_seconds
                return "time" if stopped else ""
        if channel not in waiting:
            sockets, own = most * max(0, sockets_in_use(statistics) - before), processes_of(user)
            if sockets + sum(map(private_memory, own)) > limits.memory_bytes:
                return "memory"
            if looks % LOOKS == 0 and have_too_many_mappings(own):
                return "memory"


def end_processes(user: int) -> None:
    """End all processes of a user, and those of this process's children that have ended.

    For a process of root with one thread, which waits for none of its children by their ids. Gives up
    after END_SECONDS; `processes_of` says what is left then.
    """
    deadline = time.monotonic() + END_SECONDS
    while processes_of(user) and time.monotonic() < deadline:
        killer = os.fork()
        if killer == 0:
            try:
                # It may signal the user's processes by its effective id. They can't signal it, because
                # its real and its saved id are others.
                os.setgroups([])
                os.setresuid(user + 1, user, user + 1)
                # in one step for all, so that none can start another meanwhile
                os.kill(-1, signal.SIGKILL)
            finally:
                os._exit(0)
        time.sleep(0.01)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
