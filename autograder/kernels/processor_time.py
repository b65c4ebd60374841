"""The processor time of a kernel, with all processes that it has started, as Linux counts it."""

from __future__ import annotations

import collections
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

LOOK_SECONDS = 0.2
TICKS = os.sysconf("SC_CLK_TCK")
# places in /proc/PID/stat, counted behind the command's name
PARENT, OWN, WITH_CHILDREN, STARTED = 1, slice(11, 13), slice(11, 15), 19


def available() -> bool:
    """Whether this system shows what its processes use."""
    return Path("/proc/self/stat").exists()


def descendants(process: int) -> Iterator[tuple[str, list[bytes]]]:
    """A process and its descendants that are alive: id and the fields of /proc/PID/stat."""
    fields: dict[str, list[bytes]] = {}
    children = collections.defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # it may end at any time
        with contextlib.suppress(OSError):
            name = stat.parent.name
            fields[name] = stat.read_bytes().rpartition(b")")[2].split()
            children[fields[name][PARENT].decode()].append(name)
    waiting = [str(process)]
    while waiting:
        name = waiting.pop()
        waiting += children[name]
        if name in fields:
            yield name, fields[name]


class ProcessorTime:
    """The processor time of a process and of all its descendants.

    Linux adds a process's time to its parent's when that waits for it. A process that nobody waits for
    counts with what it had used when `seconds` last looked; so look often.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._used: dict[tuple[str, bytes], int] = {}

    def seconds(self) -> float:
        """What they have used so far."""
        living = 0
        for name, fields in descendants(self._process):
            living += sum(map(int, fields[WITH_CHILDREN]))
            self._used[name, fields[STARTED]] = sum(map(int, fields[OWN]))
        return max(living, sum(self._used.values())) / TICKS
