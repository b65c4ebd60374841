"""The room that a student's kernel runs in, on Linux: what it may see, use up and reach.

After its fork from the warm process a kernel gets namespaces of its own (mounts, processes, network,
System V memory; users too, for a grader who is an ordinary user), a file system made of the system's
programs, Python and an empty folder, no privileges, and limits. A keeper outside the room watches its
memory. Where the system does not offer this, `why_not` says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.catalogue import ROOT
from autograder.errors import SandboxError

WORK, KERNEL, ENDED = "work", "kernel", "ended"
MEMORY = 2_000_000_000
DISK, FILES = 200_000_000, 10_000
PROCESSES, DESCRIPTORS = 128, 512
# users that no account belongs to, for a grader who is root
FIRST_USER, USERS = 1_879_048_192, 65_536
LOOK_SECONDS = 0.05
HOLDS = "holds"

NEWNS, NEWUTS, NEWIPC, NEWUSER = 0x00020000, 0x04000000, 0x08000000, 0x10000000
NEWPID, NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 32, 4096, 16384
MS_PRIVATE = 1 << 18
MNT_DETACH, AT_RECURSIVE = 2, 0x8000
SYS_MOUNT_SETATTR = 442
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION = 0x20080522

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime")
DEVICES = ("null", "zero", "full", "random", "urandom")

_c = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    if getattr(_c, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str, target: Path, kind: str, flags: int, data: str = "") -> None:
    _call("mount", source.encode(), bytes(target), kind.encode(), flags, data.encode())


class _Attributes(ctypes.Structure):
    """struct mount_attr of mount_setattr(2)."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "users")]


def _show(source: Path, target: Path) -> None:
    """Let a folder or file of the system be seen in the room, not to be written."""
    _mount(str(source), target, "", MS_BIND | MS_REC)
    own = _Attributes(set=MS_RDONLY | MS_NOSUID)
    size = ctypes.c_size_t(ctypes.sizeof(own))
    where = (SYS_MOUNT_SETATTR, -1, bytes(target), AT_RECURSIVE)
    _call("syscall", *where, ctypes.byref(own), size)


def _python_folders() -> list[Path]:
    """Where Python and its libraries lie; none of them within another, or within the system's."""
    own = {Path(sys.base_prefix).resolve(), Path(sys.prefix).absolute()}
    own |= {Path(path).absolute() for path in sys.path if path.endswith("-packages")}
    outer = own | {Path("/", name) for name in SYSTEM}
    return sorted(path for path in own if path.is_dir() and not outer & set(path.parents))


def _furnish(room: Path, folder: Path, user: int) -> None:
    """Build the room's file system on a folder, seen from outside."""

    def inside(path: Path) -> Path:
        return room / path.relative_to("/")

    def storage(path: Path, limits: str) -> None:
        inside(path).mkdir(parents=True, exist_ok=True)
        _mount("tmpfs", inside(path), "tmpfs", MS_NOSUID | MS_NODEV, limits)

    _mount("none", Path("/"), "", MS_REC | MS_PRIVATE)
    _mount("tmpfs", room, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    for path in [Path("/", name) for name in SYSTEM]:
        if path.is_symlink():
            inside(path).symlink_to(path.readlink())
        elif path.is_dir():
            inside(path).mkdir()
            _show(path, inside(path))
    inside(Path("/etc")).mkdir()
    for path in [Path("/etc", name) for name in SETTINGS]:
        if path.is_dir():
            inside(path).mkdir()
        elif path.is_file():
            inside(path).touch()
        else:
            continue
        _show(path.resolve(), inside(path))
    account = f"student:x:{user}:{user}::{folder}/home:/bin/sh\n"
    inside(Path("/etc/passwd")).write_text(account)
    limits = f"size={DISK},nr_inodes={FILES},mode=1777"
    storage(Path("/dev/shm"), limits)
    for path in [Path("/dev", name) for name in DEVICES]:
        inside(path).touch()
        _mount(str(path), inside(path), "", MS_BIND)
    inside(Path("/dev/fd")).symlink_to("/proc/self/fd")
    inside(Path("/proc")).mkdir()
    _mount("proc", inside(Path("/proc")), "proc", MS_NOSUID | MS_NODEV)
    temporary = Path("/tmp")
    storage(temporary, limits)
    if temporary not in folder.parents:
        storage(folder.parent, limits)
    for path in _python_folders():
        if path != Path("/usr"):
            inside(path).mkdir(parents=True, exist_ok=True)
            _show(path, inside(path))
    if inside(ROOT).is_dir() and not any(ROOT in path.parents for path in _python_folders()):
        storage(ROOT, "size=4k,mode=755")
    for name in (WORK, KERNEL, "home", "tmp"):
        inside(folder / name).mkdir(parents=True)
    shutil.copytree(folder / WORK, inside(folder / WORK), dirs_exist_ok=True)
    # its sockets are what the grader connects to
    _mount(str(folder / KERNEL), inside(folder / KERNEL), "", MS_BIND)
    if os.getuid() != user:
        for path in inside(folder).rglob("*"):
            os.chown(path, user, user)


def _move_in(room: Path) -> None:
    """Make the room the only file system there is."""
    os.chdir(room)
    _call("pivot_root", b".", b".")
    _call("umount2", b".", MNT_DETACH)
    os.chdir("/")
    _mount("none", Path("/"), "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _drop_privileges(user: int) -> None:
    """Become an ordinary user for good: no capabilities, and none to be had."""
    for number in range(64):
        _c.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    _c.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    if os.getuid() != user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header, nothing = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    _call("capset", header, nothing)
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # the change of user has cleared both
    _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
    _call("prctl", PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _limit(seconds: float) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    for what, most in (
        (resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY),
        (resource.RLIMIT_CPU, int(seconds)),
        (resource.RLIMIT_FSIZE, DISK),
        (resource.RLIMIT_NPROC, PROCESSES),
        (resource.RLIMIT_NOFILE, DESCRIPTORS),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _memory_in_use() -> int:
    """Bytes of all processes in the room that are not shared with a file."""
    pages = 0
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - twenty times a second
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{name}/statm").read_text().split()[1:3]
            pages += int(resident) - int(shared)
    return pages * resource.getpagesize()


def _keep(kernel: int, words: int, folder: Path, ended: int, most: float) -> None:
    """Outside the room: pass on interrupts, and end the kernel when the room uses too much memory.

    most: seconds of computing after which the system ends it.
    """
    signal.signal(signal.SIGINT, lambda *_: os.kill(kernel, signal.SIGINT))
    watched = os.pidfd_open(kernel)
    waiting, seconds = [watched, words], None
    while True:
        found = select.select(waiting, [], [], seconds)[0]
        if watched in found:
            _, status, used = os.wait4(kernel, 0)
            # the system counts by ticks, so on a busy machine it may end a process early
            if os.WIFSIGNALED(status) and used.ru_utime + used.ru_stime > 0.5 * most:
                os.write(ended, b"time")
            return
        if words in found:
            waiting, seconds = [watched], LOOK_SECONDS
            if os.read(words, 1):
                flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV
                _mount("none", folder / KERNEL, "", flags)
                os.write(words, b"!")
        elif seconds and _memory_in_use() > MEMORY:
            os.write(ended, b"memory")
            os.kill(kernel, signal.SIGKILL)
            return


def enter(folder: Path, seconds: float) -> int:
    """Move this process, which has one thread, into a room of its own; only a child of it returns.

    A kernel killed in the room takes with it all that it has started.

    Args:
        folder: has `work`, whose files are copied into the room, and `kernel`, which is shared with it;
            it has the same path inside. A file `ended` in it says afterwards which limit was reached.
        seconds: of computing that a process may use.

    Returns:
        A descriptor for `settled`.

    Raises:
        OSError: the system does not offer what it takes; this process is then of no more use.
    """
    (folder / "room").mkdir()
    ended = os.open(folder / ENDED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    root = os.geteuid() == 0
    user = FIRST_USER + os.getpid() % USERS if root else os.getuid()
    group = user if root else os.getgid()
    _call("unshare", NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET | (0 if root else NEWUSER))
    if not root:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    ours, theirs = socket.socketpair()
    kernel = os.fork()
    if kernel:
        theirs.close()
        try:
            _keep(kernel, ours.fileno(), folder, ended, int(seconds))
        finally:
            os._exit(0)
    os.close(ended)
    ours.close()
    _furnish(folder / "room", folder, user)
    _move_in(folder / "room")
    _drop_privileges(user)
    _limit(seconds)
    os.chdir(folder / WORK)
    return theirs.detach()


def settled(words: int) -> None:
    """Say that all sockets are there: from now on nothing can be written where they lie."""
    os.write(words, b".")
    if os.read(words, 1) != b"!":
        os._exit(1)
    os.close(words)


@functools.cache
def why_not() -> str:
    """Why kernels can't be given a room on this system; "" where they can."""
    if sys.platform != "linux":
        return f"it needs Linux, and this is {sys.platform}"
    done = subprocess.run(
        [sys.executable, "-m", "autograder.sandbox"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.stdout == HOLDS else done.stderr.strip().rpartition("\n")[2] or "it died"


def warn(reason: str, required: bool) -> None:
    """Say loudly that there are no rooms, and what that means; raise SandboxError if they are required."""
    text = (
        f"NOT SANDBOXED ({reason}): the code of submissions can read this account's files, solutions and "
        "gradebook included, use the network, and use up memory and disk."
    )
    if required:
        raise SandboxError(f"{text} --require-sandbox refuses that.")
    print(f"{text} See --require-sandbox.", file=sys.stderr)


def _try() -> None:
    """Move into a room and say whether it holds."""
    with tempfile.TemporaryDirectory(prefix="room-") as folder:
        for name in (WORK, KERNEL):
            Path(folder, name).mkdir()
        tried = os.fork()
        if tried == 0:
            try:
                settled(enter(Path(folder), 60))
                os.write(1, HOLDS.encode())
            except OSError as error:
                os.write(2, f"{error}\n".encode())
            finally:
                os._exit(0)
        os.waitpid(tried, 0)


if __name__ == "__main__":
    _try()
