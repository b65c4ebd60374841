"""The sandbox's file system, in a mount namespace.

In: a `FileSystem`. Effect: the calling process, whose mount namespace must be its own, sees nothing but
the system's programs and Python (both read-only) and one tmpfs to write in.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from autograder.kernels.linux import call
from autograder.kernels.protocol import CONNECTION, WORK

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 32, 4096, 16384
MS_PRIVATE = 1 << 18
MNT_DETACH, AT_RECURSIVE = 2, 0x8000
SYS_MOUNT_SETATTR = 442

MAX_FILES = 10_000
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts", "localtime")
# Without "zero": mapped as shared memory, it is memory that belongs to no process (see
# seccomp.REFUSED_FLAGS).
DEVICES = ("null", "full", "random", "urandom")
SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class FileSystem:
    """A file system for one kernel.

    root: an empty folder that it is built on; folder: the kernel's private folder, which has the same
    path inside: the files in WORK are copied, CONNECTION is shared with the outside; hidden: folders
    that are shown empty wherever they lie; user: who the kernel runs as; disk_bytes: the size of all files
    that it writes.
    """

    root: Path
    folder: Path
    hidden: tuple[Path, ...]
    user: int
    disk_bytes: int

    def build(self) -> None:
        """Mount everything, seen from outside. Raises OSError."""
        folder, inside = self.folder, self._inside
        _mount("none", Path("/"), "", MS_REC | MS_PRIVATE)
        _mount("tmpfs", self.root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
        self._show_system()
        account = f"student:x:{self.user}:{self.user}::{folder}/home:/bin/sh\n"
        inside(Path("/etc/passwd")).write_text(account)
        temporary = Path("/tmp")
        inside(temporary).mkdir()
        limits = f"size={self.disk_bytes},nr_inodes={MAX_FILES},mode=755"
        _mount("tmpfs", inside(temporary), "tmpfs", MS_NOSUID | MS_NODEV, limits)
        self._make_writable(SHARED_MEMORY)
        for path in [Path("/dev", name) for name in DEVICES]:
            inside(path).touch()
            _mount(str(path), inside(path), "", MS_BIND)
        inside(Path("/dev/fd")).symlink_to("/proc/self/fd")
        inside(Path("/proc")).mkdir()
        _mount("proc", inside(Path("/proc")), "proc", MS_NOSUID | MS_NODEV)
        if temporary not in folder.parents:
            self._make_writable(folder.parent)
        # last, as it hides the tmpfs whose parts these are
        self._make_writable(temporary)
        self._show_python()
        self._fill_private_folder()

    def enter(self) -> None:
        """Make it the only file system that there is. Raises OSError."""
        os.chdir(self.root)
        call("pivot_root", b".", b".")
        call("umount2", b".", MNT_DETACH)
        os.chdir("/")
        _mount("none", Path("/"), "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)

    def _inside(self, path: Path) -> Path:
        """Where a path of the new file system lies as long as it isn't entered."""
        return self.root / path.relative_to("/")

    def _show_system(self) -> None:
        inside = self._inside
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

    def _show_python(self) -> None:
        inside = self._inside
        folders = python_folders()
        for path in folders:
            if path != Path("/usr"):
                inside(path).mkdir(parents=True, exist_ok=True)
                _show(path, inside(path))
        for hidden in self.hidden:
            # a folder that holds Python's shows nothing else: it was made for Python's alone
            if inside(hidden).is_dir() and not any(hidden in path.parents for path in folders):
                _mount("tmpfs", inside(hidden), "tmpfs", MS_NOSUID | MS_NODEV, "size=4k,mode=755")

    def _make_writable(self, path: Path) -> None:
        """A folder to write in; all of them are parts of one tmpfs, so its size is for all together."""
        part = tempfile.mkdtemp(dir=self._inside(Path("/tmp")))
        Path(part).chmod(0o1777)
        self._inside(path).mkdir(parents=True, exist_ok=True)
        _mount(part, self._inside(path), "", MS_BIND)

    def _fill_private_folder(self) -> None:
        folder, inside = self.folder, self._inside
        for name in (WORK, CONNECTION, "home", "tmp"):
            inside(folder / name).mkdir(parents=True)
        shutil.copytree(folder / WORK, inside(folder / WORK), dirs_exist_ok=True)
        # the grader connects to the sockets in it
        _mount(str(folder / CONNECTION), inside(folder / CONNECTION), "", MS_BIND)
        if os.getuid() != self.user:
            for path in inside(folder).rglob("*"):
                os.chown(path, self.user, self.user)


def make_read_only(folder: Path) -> None:
    """Let nothing more be written in a folder that is a mount of its own. Raises OSError."""
    _mount("none", folder, "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def python_folders() -> list[Path]:
    """Where this Python and its libraries lie; none of them within another, or within the system's."""
    own = {Path(sys.base_prefix).resolve(), Path(sys.prefix).absolute()}
    own |= {Path(path).absolute() for path in sys.path if path.endswith("-packages")}
    outer = own | {Path("/", name) for name in SYSTEM}
    return sorted(path for path in own if path.is_dir() and not outer & set(path.parents))


def _mount(source: str, target: Path, kind: str, flags: int, data: str = "") -> None:
    call("mount", source.encode(), bytes(target), kind.encode(), flags, data.encode())


class _Attributes(ctypes.Structure):
    """struct mount_attr of mount_setattr(2)."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "users")]


def _show(source: Path, target: Path) -> None:
    """Mount a folder or file of the system, with what is mounted below it, read-only."""
    _mount(str(source), target, "", MS_BIND | MS_REC)
    own = _Attributes(set=MS_RDONLY | MS_NOSUID)
    size = ctypes.c_size_t(ctypes.sizeof(own))
    where = (SYS_MOUNT_SETATTR, -1, bytes(target), AT_RECURSIVE)
    call("syscall", *where, ctypes.byref(own), size)
