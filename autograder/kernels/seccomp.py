"""The sandbox's filter of system calls.

In: the tables below. Effect: the calling process, and all that it starts, can no longer use these
system calls, and for some of them its watcher is asked.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import itertools
import os
import re
import signal
import socket
import struct
from collections.abc import Mapping, Sequence

from autograder.kernels import linux
from autograder.kernels.linux import PR_SET_SECCOMP, prctl

SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_USER_NOTIF = 0x7FFF0000, 0x00050000, 0x7FC00000
# the number of seccomp(2), what it is to do, and how: with a descriptor on which calls can be asked about
SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER = (317, 277), 1, 8
# of linux/seccomp.h: to receive a struct seccomp_notif, to send a struct seccomp_notif_resp, and that the call goes on
SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND = 0xC0502100, 0xC0182101
NOTIFICATION, RESPONSE = struct.Struct("=QII64x"), struct.Struct("=QqiI")
SECCOMP_USER_NOTIF_FLAG_CONTINUE = 1
# the first version of Linux in which it can
FIRST_VERSION = 5, 5
MAP_SHARED, MAP_ANONYMOUS = 1, 32
# operations of a BPF program: load a word of struct seccomp_data, jump if equal or at least, and, return
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
# offsets in struct seccomp_data
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16

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
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    # looking into other processes, or stopping them
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
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
    # rules without number for a process's own access to files and ports
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
    # Requests that all programs of the machine have a limited number of together.
    "io_setup": (206, 0),
    # Limits are lowered from outside while a line is evaluated that may use little memory.
    "setrlimit": (160, 164),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Signals of any kind, from Linux itself: while a check forbids something, other processes stand still.
    "timer_create": (222, 107),
    "mq_notify": (244, 184),
}
NAMESPACES = (
    *(linux.CLONE_NEWUSER, linux.CLONE_NEWNS, linux.CLONE_NEWPID, linux.CLONE_NEWNET),
    *(linux.CLONE_NEWIPC, linux.CLONE_NEWUTS, linux.CLONE_NEWCGROUP),
)
# System call -> its numbers, which argument holds the flags, and the flags that are refused (EPERM):
# whoever sets all bits of one of these numbers.
REFUSED_FLAGS = {
    # In a user namespace of its own, a process has all privileges: it could mount further tmpfs.
    "unshare": ((272, 97), 0, (*NAMESPACES, linux.CLONE_NEWTIME)),
    # likewise, from a child's end
    "clone": ((56, 220), 0, (*NAMESPACES, signal.SIGCONT)),
    # It stays when the process that filled it has unmapped it, as long as another maps a page of it, so
    # no process's figures show it. PyTorch and multiprocessing share files in /dev/shm instead.
    "mmap": ((9, 222), 3, (MAP_SHARED | MAP_ANONYMOUS,)),
}
# System calls that make sockets -> their numbers; the first argument is the family. Only these families may
# be had: a network namespace holds IP and netlink, while others, such as AF_VSOCK, which leads to the host of a
# virtual machine, belong to no namespace. Without a network namespace IP would lead to the network, too.
# Others are refused with EINVAL: libzmq ends the process when it can't list the network's interfaces, but for
# this error.
SOCKETS = {"socket": (41, 198), "socketpair": (53, 199)}
# With each family the third arguments that may be had: the family's own choice (of netlink, what tells the network's
# interfaces), TCP and UDP. For others Linux may load a module, and netlink may tell what the machine's devices do.
LOCAL = {socket.AF_UNIX: (0,)}
OF_IP = (0, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
IN_NAMESPACE = LOCAL | {socket.AF_INET: OF_IP, socket.AF_INET6: OF_IP, socket.AF_NETLINK: (0,)}
# The numbers of setsockopt, and options of SOL_SOCKET that have no effect: with a larger buffer a socket would
# hold more memory than the watcher counts for it.
SET_OPTION = (54, 208)
BUFFERS = (socket.SO_SNDBUF, socket.SO_RCVBUF)

# of linux/prctl.h, and of linux/fcntl.h, the locks without and with waiting
PR_FUTEX_HASH, F_OFD_SETLK, F_OFD_SETLKW, F_SETSIG = 78, 37, 38, 10
# System calls -> their numbers, the argument that says what to do, the values of it that have no effect, and the
# errors that are told, 0 for none. Linux would keep in memory that no process and no mount has:
# each range of a file that is locked, without a limit (a lock of a whole file, by flock, is one of a descriptor); and a
# table for waiting threads, as large as is asked for. The other two have signals sent, as the end of `REFUSED_CALLS`.
REFUSED_VALUES: dict[str, tuple[tuple[int, int], int, dict[int, int]]] = {
    "fcntl": (
        (72, 25),
        1,
        dict.fromkeys((fcntl.F_SETLK, fcntl.F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW, F_SETSIG), 0),
    ),
    "prctl": ((157, 167), 0, {PR_FUTEX_HASH: errno.EINVAL, linux.PR_SET_PDEATHSIG: 0}),
}

# System calls -> their numbers, and the argument that has to be 0; any other value is refused (EPERM).
REFUSED_UNLESS_NULL = {
    # with new limits; without, it reads those that there are
    "prlimit64": ((302, 261), 2),
}

# System calls for which the watcher is asked: those that start a program, and those that send a signal, with the
# argument that says which. A process that stands still goes on by SIGCONT, and perhaps by the end of its parent.
STARTING = {"execve": (59, 221), "execveat": (322, 281)}
SENDING = {
    "kill": ((62, 129), 1),
    "tkill": ((200, 130), 1),
    "tgkill": ((234, 131), 2),
    "rt_sigqueueinfo": ((129, 138), 1),
    "rt_tgsigqueueinfo": ((297, 240), 2),
    "pidfd_send_signal": ((424, 424), 1),
}
ASKED_SIGNALS = (signal.SIGCONT, signal.SIGKILL)

Line = tuple[int, int, int, int]
ALLOW: Line = (RETURN, 0, 0, SECCOMP_RET_ALLOW)


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


def ask_about_system_calls() -> int | None:
    """Let calls of STARTING and SENDING wait, in this process and all that it starts, for what is said of them.

    Returns a descriptor for `answer`; None where Linux has none to give, or couldn't let a call go on.
    """
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < FIRST_VERSION:
        return None
    _, column = _machine()
    ask = (RETURN, 0, 0, SECCOMP_RET_USER_NOTIF)
    program = [(LOAD, 0, 0, NUMBER)]
    for numbers in STARTING.values():
        program += _of(numbers[column], ask)
    for numbers, argument in SENDING.values():
        program += _of(numbers[column], *_by_argument(argument, dict.fromkeys(ASKED_SIGNALS, ask)))
    installing = (SECCOMP[column], SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER)
    try:
        return linux.call("syscall", *installing, ctypes.byref(_as_filter(program)))
    except OSError:
        return None


def answer(listener: int, refused: bool) -> None:
    """Say to one call that waits whether it is refused (EPERM) or goes on."""
    found = bytearray(NOTIFICATION.size)
    error, how = (-errno.EPERM, 0) if refused else (0, SECCOMP_USER_NOTIF_FLAG_CONTINUE)
    # whose call it is may have ended
    with contextlib.suppress(OSError):
        fcntl.ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, found)
        response = RESPONSE.pack(NOTIFICATION.unpack(found)[0], 0, error, how)
        fcntl.ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, response)


def refuse_system_calls(network: bool = True) -> None:
    """Install the filter, for this process and all that it starts, for good; raises OSError.

    network: whether the process has a network namespace of its own, so that it may make IP sockets.

    A limit on user namespaces (/proc/sys/user/max_user_namespaces) would not do: it belongs to the user
    namespace of the grader, and for a root grader that is the whole machine's. A filter is the same for
    both kinds of grader.
    """
    architecture, column = _machine()
    no_such_call = _refuse(errno.ENOSYS)
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        no_such_call,
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32_NUMBERS),
        no_such_call,
    ]
    for numbers in REFUSED_CALLS.values():
        program += _of(numbers[column], no_such_call)
    for numbers, argument, refused in REFUSED_FLAGS.values():
        look: list[Line] = []
        for flags in refused:
            look += [
                _load(argument),
                (AND, 0, 0, flags),
                (EQUAL, 0, 1, flags),
                _refuse(errno.EPERM),
            ]
        program += _of(numbers[column], *look)
    for numbers in SOCKETS.values():
        look = []
        for family, protocols in (IN_NAMESPACE if network else LOCAL).items():
            which = [
                *_by_argument(2, dict.fromkeys(protocols, ALLOW)),
                _refuse(errno.EPROTONOSUPPORT),
            ]
            look += [_load(0), (EQUAL, 0, len(which), family), *which]
        program += _of(numbers[column], *look, _refuse(errno.EINVAL))
    look = _by_argument(2, dict.fromkeys(BUFFERS, _refuse(0)))
    program += _of(SET_OPTION[column], _load(1), (EQUAL, 0, len(look), socket.SOL_SOCKET), *look)
    for numbers, argument, errors in REFUSED_VALUES.values():
        values = {value: _refuse(error) for value, error in errors.items()}
        program += _of(numbers[column], *_by_argument(argument, values))
    for numbers, argument in REFUSED_UNLESS_NULL.values():
        # an argument has 64 bits and is read in two halves
        high = (LOAD, 0, 0, ARGUMENTS + 8 * argument + 4)
        zero = (_load(argument), (EQUAL, 0, 2, 0), high, (EQUAL, 1, 0, 0))
        program += _of(numbers[column], *zero, _refuse(errno.EPERM))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(_as_filter(program)))


def _machine() -> tuple[int, int]:
    """Of this machine, what ARCHITECTURES says; raises OSError."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"the sandbox does not know the system calls of {machine}")
    return ARCHITECTURES[machine]


def _refuse(error: int) -> Line:
    return (RETURN, 0, 0, SECCOMP_RET_ERRNO | error)


def _load(argument: int) -> Line:
    """Read an argument, of whose 64 bits the lower half."""
    return (LOAD, 0, 0, ARGUMENTS + 8 * argument)


def _by_argument(argument: int, values: Mapping[int, Line]) -> list[Line]:
    """What becomes of a call whose argument has one of these values."""
    looks = [((EQUAL, 0, 1, value), then) for value, then in values.items()]
    return [_load(argument), *itertools.chain.from_iterable(looks)]


def _of(number: int, *look: Line) -> list[Line]:
    """What is looked at in one system call, which is allowed if nothing is said of it."""
    return [(EQUAL, 0, len(look) + 1, number), *look, ALLOW]


def _as_filter(program: Sequence[Line]) -> _Program:
    """A program that ends by allowing."""
    lines = [*program, ALLOW]
    return _Program(
        len(lines), (_Instruction * len(lines))(*(_Instruction(*line) for line in lines))
    )
