"""The room that a student's kernel runs in, on Linux: what it may see, use up and reach.

After its fork from the warm process a kernel gets namespaces of its own (mounts, processes, network,
System V memory; users too, for a grader who is an ordinary user), a file system made of the system's
programs, Python and an empty folder, no privileges, limits, and a filter of system calls. A keeper
outside the room watches its memory, files in it included. Where the system does not offer this,
`why_not` says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import itertools
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.course import PACKAGE_ROOT as ROOT
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
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
MAP_SHARED, MAP_ANONYMOUS = 1, 32
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO = 0x7FFF0000, 0x00050000

# by os.uname().machine: the AUDIT_ARCH of its system calls, and which column below holds their numbers
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# from here on, numbers on x86-64 are those of the x32 ABI
X32_NUMBERS = 0x40000000
# System calls that a kernel in the sandbox can't use: it gets ENOSYS, as if the system lacked them, so
# libraries fall back on others. Nothing here is taken from Python, NumPy, PyTorch or Matplotlib.
REFUSED_CALLS = {
    # its flags lie in memory, which a filter can't read; libc then uses clone
    "clone3": (435, 435),
    # The view of the file system is fixed. Without a user namespace these need privileges that the
    # kernel lacks; the filter is a second barrier.
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # keys belong to the user, so they could be passed on to the next kernel
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Memory that no process and no mount has: it can't be counted. Shared memory in /dev/shm can.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "vmsplice": (278, 75),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
}
# system call -> its numbers, which argument holds the flags, and the flags that are refused (EPERM)
REFUSED_FLAGS = {
    # In a user namespace of its own, a process has all privileges: it could mount further tmpfs.
    "unshare": ((272, 97), 0, NEWUSER),
    "clone": ((56, 220), 0, NEWUSER),
    # It stays when the process that filled it has unmapped it, as long as another maps a page of it, so
    # no process's figures show it. PyTorch and multiprocessing share files in /dev/shm instead.
    "mmap": ((9, 222), 3, MAP_SHARED | MAP_ANONYMOUS),
}

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime")
# Without "zero": mapped as shared memory, it is memory that belongs to no process (see REFUSED_FLAGS).
DEVICES = ("null", "full", "random", "urandom")
SHARED_MEMORY = Path("/dev/shm")
# in /proc/PID/status, which needs no privileges to be read, unlike smaps
PRIVATE_KILOBYTES = re.compile(rb"^(?:RssAnon|VmSwap):\s+(\d+) kB", re.MULTILINE)

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

    def storage(path: Path) -> None:
        """A folder to write in; all of them are parts of one tmpfs, so DISK is for all together."""
        part = tempfile.mkdtemp(dir=inside(temporary))
        Path(part).chmod(0o1777)
        inside(path).mkdir(parents=True, exist_ok=True)
        _mount(part, inside(path), "", MS_BIND)

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
    temporary = Path("/tmp")
    inside(temporary).mkdir()
    limits = f"size={DISK},nr_inodes={FILES},mode=755"
    _mount("tmpfs", inside(temporary), "tmpfs", MS_NOSUID | MS_NODEV, limits)
    storage(SHARED_MEMORY)
    for path in [Path("/dev", name) for name in DEVICES]:
        inside(path).touch()
        _mount(str(path), inside(path), "", MS_BIND)
    inside(Path("/dev/fd")).symlink_to("/proc/self/fd")
    inside(Path("/proc")).mkdir()
    _mount("proc", inside(Path("/proc")), "proc", MS_NOSUID | MS_NODEV)
    if temporary not in folder.parents:
        storage(folder.parent)
    # last, as it hides the tmpfs whose parts these are
    storage(temporary)
    for path in _python_folders():
        if path != Path("/usr"):
            inside(path).mkdir(parents=True, exist_ok=True)
            _show(path, inside(path))
    if inside(ROOT).is_dir() and not any(ROOT in path.parents for path in _python_folders()):
        inside(ROOT).mkdir(parents=True, exist_ok=True)
        _mount("tmpfs", inside(ROOT), "tmpfs", MS_NOSUID | MS_NODEV, "size=4k,mode=755")
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


class _Instruction(ctypes.Structure):
    """struct sock_filter of linux/filter.h."""

    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


def _refuse_system_calls() -> None:
    """Install a seccomp filter, for this process and all that it starts, for good.

    A limit on user namespaces (/proc/sys/user/max_user_namespaces) would not do: it belongs to the user
    namespace of the grader, and for a root grader that is the whole machine's. A filter is the same for
    both kinds of grader.
    """
    load, equal, at_least, mask, ret = 0x20, 0x15, 0x35, 0x54, 0x06
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"the sandbox does not know the system calls of {machine}")
    architecture, column = ARCHITECTURES[machine]
    no_such_call = (ret, 0, 0, SECCOMP_RET_ERRNO | errno.ENOSYS)
    # offsets in struct seccomp_data: number 0, architecture 4, arguments (low words) from 16
    program = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        no_such_call,
        (load, 0, 0, 0),
        (at_least, 0, 1, X32_NUMBERS),
        no_such_call,
    ]
    for numbers in REFUSED_CALLS.values():
        program += [(equal, 0, 1, numbers[column]), no_such_call]
    for numbers, argument, flags in REFUSED_FLAGS.values():
        program += [
            (equal, 0, 5, numbers[column]),
            (load, 0, 0, 16 + 8 * argument),
            (mask, 0, 0, flags),
            (equal, 0, 1, flags),
            (ret, 0, 0, SECCOMP_RET_ERRNO | errno.EPERM),
            (ret, 0, 0, SECCOMP_RET_ALLOW),
        ]
    program.append((ret, 0, 0, SECCOMP_RET_ALLOW))
    instructions = (_Instruction * len(program))(*program)
    own = _Program(len(program), instructions)
    _call("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(own), 0, 0)


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


def _private_memory(process: Path) -> int:
    """Bytes that a process has in memory or swap and that no file and no tmpfs holds."""
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


def _memory_in_use() -> int:
    """Bytes in memory of all processes in the room and of its one tmpfs.

    Memory that is in neither can't be had: see REFUSED_CALLS.
    """
    names = filter(str.isdigit, os.listdir("/proc"))  # noqa: PTH208 - twenty times a second
    written = os.statvfs(SHARED_MEMORY)
    files = (written.f_blocks - written.f_bfree) * written.f_frsize
    return files + sum(_private_memory(Path("/proc", name)) for name in names)


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
    _refuse_system_calls()
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
        [sys.executable, "-m", "autograder.kernels.sandbox"],
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
