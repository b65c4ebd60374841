"""The sandbox of a student's kernel, on Linux: what the kernel can see, use up and reach.

In: a `Sandbox`. Effect: after its fork from the fork server, a kernel gets namespaces of its own (mounts,
processes, network, System V memory; users too, for a grader who is an ordinary user), a file system made
of the system's programs, Python and an empty folder (`mounts`), no privileges, resource limits, and a
filter of system calls (`seccomp`). A `watcher` counts its memory, its files included. Where the system
does not offer this, `why_not` says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import SandboxError
from autograder.instructor_settings import Limits
from autograder.kernels import control_group, linux
from autograder.kernels.mounts import FileSystem
from autograder.kernels.protocol import CONNECTION, ENDED, WORK
from autograder.kernels.seccomp import ask_about_system_calls, refuse_system_calls
from autograder.kernels.watcher import Handshake, Watcher, most_of_a_socket, run_first
from autograder.package import PACKAGE, module_command

MAX_PROCESSES, MAX_DESCRIPTORS = 128, 512
# address space that ipykernel's eleven threads reserve, for stacks and malloc, and hardly use
RESERVED_BYTES = 600_000_000
# users that no account belongs to, for a grader who is root
FIRST_USER, USERS = 1_879_048_192, 65_536
CAPABILITY_VERSION = 0x20080522
CAP_AMBIENT_CLEAR_ALL = 4
WORKS, FAILED, GROUPED = "works", "failed", ", in a control group"
NO_GROUPS = (
    "No control groups can be made here (that takes root, and a container that may): what Linux keeps for a "
    "submission beside the memory of its processes, its files and sockets isn't counted."
)


@dataclass(frozen=True)
class Sandbox:
    """A sandbox for one kernel.

    folder: the kernel's private folder. It has the same path inside; the files in WORK are copied,
    CONNECTION is shared with the outside, and a file ENDED says afterwards which limit was reached:
    "memory" or "time"; hidden: folders that are shown empty; limits: what the kernel may use, of which
    notebook_seconds is, for each process, the time of computing; groups: folders of its control group.
    """

    folder: Path
    hidden: tuple[Path, ...]
    limits: Limits
    groups: tuple[Path, ...] = ()

    def enter(self) -> Handshake:
        """Move this process, which must have one thread, into the sandbox.

        Only a descendant of this process returns; this process and a child of it stay to watch it (see
        `watcher`). Raises OSError when the system does not offer what it takes; the process that raises
        is then of no more use.
        """
        # the kernel's user has to get at what is made for it
        os.umask(0o022)
        root = os.geteuid() == 0
        user = FIRST_USER + os.getpid() % USERS if root else os.getuid()
        new_root = self.folder / "root"
        new_root.mkdir()
        ended = os.open(self.folder / ENDED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        # some systems don't show it in a network namespace
        most = most_of_a_socket()
        _unshare(map_user=not root)
        ours, theirs = socket.socketpair()
        first = os.fork()
        if first:
            theirs.close()
            with exiting():
                Watcher(first, ours, self.folder, ended, self.limits.memory_bytes, most).run()
        ours.close()
        linux.end_with_parent(0)
        control_group.join(self.groups)
        files = FileSystem(new_root, self.folder, self.hidden, user, self.limits.disk_bytes)
        files.build()
        files.enter()
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        cpu_seconds = math.ceil(self.limits.notebook_seconds)
        kernel = os.fork()
        if kernel:
            theirs.close()
            with exiting():
                run_first(kernel, ended, cpu_seconds)
        os.close(ended)
        os.setsid()
        drop_privileges(user)
        # afterwards it can't change its limits any more
        limit_resources(self.limits, cpu_seconds)
        handshake = Handshake(theirs)
        handshake.send_calls(ask_about_system_calls())
        refuse_system_calls()
        os.chdir(self.folder / WORK)
        return handshake


@contextlib.contextmanager
def exiting() -> Iterator[None]:
    """End this process after the block."""
    try:
        yield
    finally:
        os._exit(0)


def _unshare(map_user: bool) -> None:
    """Give this process namespaces of its own, and its children a PID namespace.

    map_user: with a user namespace, in which this user has all privileges.
    """
    flags = linux.CLONE_NEWNS | linux.CLONE_NEWUTS | linux.CLONE_NEWIPC | linux.CLONE_NEWPID
    flags |= linux.CLONE_NEWNET
    user, group = os.getuid(), os.getgid()
    linux.call("unshare", flags | (linux.CLONE_NEWUSER if map_user else 0))
    if map_user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def drop_privileges(user: int) -> None:
    """Become an ordinary user for good: no capabilities, and none to be had."""
    for number in range(64):
        # not every number is a capability
        with contextlib.suppress(OSError):
            linux.prctl(linux.PR_CAPBSET_DROP, number)
    with contextlib.suppress(OSError):
        linux.prctl(linux.PR_CAP_AMBIENT, CAP_AMBIENT_CLEAR_ALL)
    if os.getuid() != user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header, nothing = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    linux.call("capset", header, nothing)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    # without it, files in /proc/self belong to root
    linux.prctl(linux.PR_SET_DUMPABLE, 1)


def limit_resources(limits: Limits, cpu_seconds: int) -> None:
    """Limit what this process, and each that it starts, may use."""
    # a first barrier, for what is asked for in one piece; the watcher counts what is used
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, mapped + RESERVED_BYTES + limits.memory_bytes),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.disk_bytes),
        (resource.RLIMIT_NPROC, MAX_PROCESSES),
        (resource.RLIMIT_NOFILE, MAX_DESCRIPTORS),
        # with 0, a program of the machine's that collects crashes would still be started, outside of every limit
        (resource.RLIMIT_CORE, 1),
    ):
        # a machine may allow less
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


@functools.cache
def _tried() -> subprocess.CompletedProcess[str]:
    """What came of trying a sandbox in a process of its own."""
    command = module_command("autograder.kernels.sandbox")
    return subprocess.run(command, capture_output=True, text=True, check=False)


def why_not() -> str:
    """Why kernels can't be sandboxed on this system; "" where they can."""
    if sys.platform != "linux":
        return f"it needs Linux, and this is {sys.platform}"
    done = _tried()
    works = done.stdout.removesuffix(GROUPED) == WORKS
    return (
        "" if works else done.stderr.strip().rpartition("\n")[2] or "its trial ended without a word"
    )


def has_failed() -> bool:
    """Whether the trial of a sandbox failed by itself, in place of the system offering none."""
    if not why_not() or sys.platform != "linux":
        return False
    done = _tried()
    return FAILED in done.stdout or done.returncode != 0 or not done.stderr


def has_control_groups() -> bool:
    """Whether each kernel has a control group here, too."""
    return sys.platform == "linux" and _tried().stdout.endswith(GROUPED)


def protections(limits: Limits) -> str:
    """What keeps a submission in, in a sentence for the instructor."""
    grouped = "In a control group of its own, Linux limits all that it keeps for a submission."
    return (
        "Submissions run in a sandbox: namespaces of their own (files, processes, network, System V "
        f"memory), a filter of system calls, a keyring of their own, no privileges, {limits.memory_mb} MB "
        f"of memory of which {limits.disk_mb} MB may be files, {limits.notebook_seconds:g} seconds of "
        f"computing, {MAX_PROCESSES} processes, {MAX_DESCRIPTORS} open files each. "
        f"{grouped if has_control_groups() else NO_GROUPS}"
    )


# by the file in which a system says that ordinary users may have no namespaces: the value that forbids
# them, and what to do
FORBIDDING = {
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "Ubuntu forbids namespaces to ordinary users. Allow them until the next start with `sudo sysctl "
        "-w kernel.apparmor_restrict_unprivileged_userns=0`, or for good in a file in /etc/sysctl.d",
    ),
    "kernel/unprivileged_userns_clone": (
        "0",
        "This system forbids namespaces to ordinary users. Allow them with `sudo sysctl -w "
        "kernel.unprivileged_userns_clone=1`",
    ),
    "user/max_user_namespaces": (
        "0",
        "This system allows no user namespaces. Allow them with `sudo sysctl -w "
        "user.max_user_namespaces=10000`",
    ),
}


def way_out(settings: Path = Path("/proc/sys")) -> str:
    """What an instructor can do where there is no sandbox; settings: where the system's are shown."""
    if sys.platform != "linux":
        return "Grade on Linux, or in a virtual machine or container that runs it."
    for name, (forbidding, advice) in FORBIDDING.items():
        with contextlib.suppress(OSError):
            if (settings / name).read_text().strip() == forbidding:
                return f"{advice}; or grade as root."
    return (
        "In a container, the container's own filter may refuse namespaces: start it with `--security-opt "
        "seccomp=unconfined --cap-add SYS_ADMIN`, or grade outside it."
    )


def warn(reason: str, required: bool) -> None:
    """Say that there is no sandbox, what that means and what to do; SandboxError if one is required."""
    text = (
        f"NOT SANDBOXED ({reason}): the code of submissions can read and change all that this account can (as "
        "root: everything), solutions and gradebook included, use the network, and use up memory and disk. "
        f"{way_out()}"
    )
    if required:
        raise SandboxError(
            f"{text} --require-sandbox, or c.Grader.require_sandbox, refuses that, and so does `grade` where the "
            "trial of a sandbox fails by itself. To grade without one, give --no-require-sandbox."
        )
    print(f"{text} See --require-sandbox.", file=sys.stderr)


def _try() -> None:
    """Enter a sandbox and print whether that works."""
    with tempfile.TemporaryDirectory(prefix="sandbox-") as folder:
        for name in (WORK, CONNECTION):
            Path(folder, name).mkdir()
        tried = os.fork()
        if tried == 0:
            try:
                Sandbox(Path(folder), (PACKAGE,), Limits()).enter().finish()
                os.write(1, WORKS.encode())
            except Exception as error:
                os.write(2, f"{error}\n".encode())
                if not isinstance(error, OSError):
                    os.write(1, FAILED.encode())
            finally:
                os._exit(0)
        os.waitpid(tried, 0)
    if control_group.available():
        os.write(1, GROUPED.encode())


if __name__ == "__main__":
    _try()
