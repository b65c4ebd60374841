"""The processor time of a kernel, with all processes that it has started, as Linux counts it, and its limit."""

from __future__ import annotations

import collections
import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

LOOK_SECONDS = 0.2
# By the clock a limit is so many times as long. The processor time is looked at FIRST_LOOK seconds after the
# beginning, when most is done already, and then when it may have been used up.
CLOCK, FIRST_LOOK = 3, 1.0
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


class TimeLimit:
    """How many seconds a process and its descendants may compute, and by the clock CLOCK times as many.

    So nobody loses time to others on a machine with too much to do. Where Linux doesn't count it, the limit is
    by the clock alone.
    """

    def __init__(self, process: int, seconds: float) -> None:
        self._process, self._seconds = process, seconds
        self._begun = time.monotonic()
        self._counted = available()
        self._end = self._begun + seconds * (CLOCK if self._counted else 1)
        first = min(FIRST_LOOK, seconds / 2) if self._counted else seconds
        self._look = self._begun + first
        self._clock: ProcessorTime | None = None
        # what counts as used before the first look, less what had been used before the beginning
        self._before = 0.0

    def _used(self) -> float:
        """The processor time used; what was not looked at counts by the clock."""
        if not self._counted:
            return time.monotonic() - self._begun
        if self._clock is None:
            self._clock = ProcessorTime(self._process)
            self._before = time.monotonic() - self._begun - self._clock.seconds()
        return self._before + self._clock.seconds()

    def is_over(self) -> bool:
        """Whether the processor time has been used up, or that by the clock."""
        now = time.monotonic()
        if now < self._look:
            return False
        left = self._seconds - self._used()
        self._look = min(self._end, now + max(LOOK_SECONDS, left))
        return left <= 0 or now >= self._end

    def until_next_look(self) -> float:
        """Seconds until `is_over` can say anything else, at most LOOK_SECONDS."""
        return min(LOOK_SECONDS, max(0.0, self._look - time.monotonic()))

    def waited(self) -> float:
        """The seconds in which no processor was used, as far as that was looked at."""
        passed = time.monotonic() - self._begun
        return max(0.0, passed - self._used()) if self._clock else 0.0

    def by_clock(self) -> bool:
        """Whether the time by the clock is over, and processor time is left."""
        return self._counted and time.monotonic() >= self._end and self._used() < self._seconds
