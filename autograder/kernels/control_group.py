"""A control group (cgroup) for each kernel: Linux counts and limits what its processes use together.

A watcher counts what is in /proc: memory of processes, files, sockets. In a control group Linux counts all
that it keeps for them, too (pipes, tables, what isn't invented yet), and refuses it at once; they have no more
processes together than they may; and a hundred of them get no more of the processor than another kernel's one.
Version 1 of control groups has a folder for each of the three, version 2 one for all. Who may make none (an
ordinary user, a container that shows them read-only) goes on without.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
PREFIX, MEMBERS = "kernel-", "cgroup.procs"
# What Linux may keep for a kernel beside the memory that its watcher counts. So it's the watcher that ends a kernel
# which only computes with too much, and says why.
KERNEL_BYTES = 256_000_000
# controllers of version 1, with the file of the limit if there is one
MEMORY, PROCESSES, PROCESSOR = "memory", "pids", "cpu"
FIRST_VERSION = {MEMORY: "memory.limit_in_bytes", PROCESSES: "pids.max", PROCESSOR: ""}
SECOND_VERSION = {MEMORY: "memory.max", PROCESSES: "pids.max", PROCESSOR: ""}
# where each version says how many processes were ended because there was no memory left
KILLS, COUNT = ("memory.oom_control", "memory.events"), "oom_kill"
# seconds: after so long, an empty group belongs to a grader that was killed
ABANDONED, PATIENCE = 3600, 2.0


@dataclass(frozen=True)
class ControlGroup:
    """One kernel's group: its folders, none where no group could be made."""

    folders: tuple[Path, ...] = ()

    @staticmethod
    def make(memory_bytes: int, processes: int) -> ControlGroup:
        """Make a group whose processes may have so much memory, and be so many, together."""
        limits = {MEMORY: memory_bytes + KERNEL_BYTES, PROCESSES: processes}
        made = []
        for parent, files in _places(OWN.read_text() if OWN.exists() else "").items():
            with contextlib.suppress(OSError):
                _remove_abandoned(parent)
                folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
                made.append(folder)
                for controller, file in files.items():
                    if file:
                        (folder / file).write_text(str(limits[controller]))
        return ControlGroup(tuple(made))

    def killed(self) -> int:
        """How many of its processes Linux has ended because there was no memory left."""
        return sum(
            int(number)
            for folder in self.folders
            for file in KILLS
            for line in _lines(folder / file)
            for name, _, number in [line.partition(" ")]
            if name == COUNT
        )

    def remove(self) -> None:
        """Remove the group, whose processes have ended or are ending."""
        deadline = time.monotonic() + PATIENCE
        for folder in self.folders:
            while folder.exists() and time.monotonic() < deadline:
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.002)


def join(folders: Iterable[Path]) -> None:
    """Move this process into a group, with all that it starts from now on; folders: the group's."""
    for folder in folders:
        # who may make a group may still not move a process there
        with contextlib.suppress(OSError):
            (folder / MEMBERS).write_text("0")


def available() -> bool:
    """Whether a group with a limit of memory can be made here, and a process moved into it.

    For a process with one thread.
    """
    group = ControlGroup.make(0, 1)
    child = os.fork()
    if child == 0:
        join(group.folders)
        os._exit(0 if any(map(_limits_memory_here, group.folders)) else 1)
    joined = os.waitpid(child, 0)[1] == 0
    group.remove()
    return joined


def _limits_memory_here(folder: Path) -> bool:
    """Whether this process is in a group whose memory is limited."""
    limited = any((folder / files[MEMORY]).exists() for files in (FIRST_VERSION, SECOND_VERSION))
    return limited and str(os.getpid()) in _lines(folder / MEMBERS)


def _places(own: str) -> dict[Path, dict[str, str]]:
    """Folders to make groups in, with the files of limits by controller; own: this process's groups."""
    places: dict[Path, dict[str, str]] = {}
    left = dict(SECOND_VERSION)
    for line in sorted(own.splitlines(), reverse=True):
        # "4:memory:/a/b" in version 1, "0::/a/b" in version 2, which comes last
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            if name in FIRST_VERSION:
                del left[name]
                mounted = CGROUPS / name
                # a container sees the path outside of it, which isn't there
                inside = mounted / path.lstrip("/")
                place = inside if inside.is_dir() else mounted
                places.setdefault(place, {})[name] = FIRST_VERSION[name]
        if not controllers:
            places |= _second_version(CGROUPS / path.lstrip("/"), left)
    return places


def _second_version(own: Path, wanted: dict[str, str]) -> dict[Path, dict[str, str]]:
    """The nearest folder of version 2 whose groups may have limits: those of this one's processes can't."""
    for folder in (own, *own.parents):
        offered = " ".join(_lines(folder / "cgroup.subtree_control")).split()
        if found := {name: file for name, file in wanted.items() if name in offered}:
            return {folder: found}
        if folder == CGROUPS:
            break
    return {}


def _remove_abandoned(parent: Path) -> None:
    """Remove empty groups of graders that were killed; Linux refuses to remove others."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_ctime > ABANDONED:
                folder.rmdir()


def _lines(file: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return file.read_text().splitlines()
    return []
