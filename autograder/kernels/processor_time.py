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
# the most by the clock for code that is ready to compute all the time, on a machine with too much to do
BUSY = 10
TICKS = os.sysconf("SC_CLK_TCK")
# places in /proc/PID/stat, counted behind the command's name
STATE, PARENT, OWN, WITH_CHILDREN, STARTED = 0, 1, slice(11, 13), slice(11, 15), 19


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
    counts with what it had used when `seconds` last looked; so look often. is_ready: whether one of them
    computed then, or would have with a processor.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._used: dict[tuple[str, bytes], int] = {}
        self.is_ready = False

    def seconds(self) -> float:
        """What they have used so far."""
        living, self.is_ready = 0, False
        for name, fields in descendants(self._process):
            living += sum(map(int, fields[WITH_CHILDREN]))
            self.is_ready |= fields[STATE] == b"R"
            self._used[name, fields[STARTED]] = sum(map(int, fields[OWN]))
        return max(living, sum(self._used.values())) / TICKS


class TimeLimit:
    """How many seconds a process and its descendants may compute, and by the clock CLOCK times as many.

    By the clock, seconds in which they were ready to compute and had no processor don't count, up to BUSY times
    as many in all: an endless loop uses up its time on any machine. So nobody loses time to others on a machine with
    too much to do. Where Linux doesn't count it, the limit is by the clock alone.
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
        # seconds until the last look in which they were ready and had no processor, and those without in all
        self.ready = self._idle = 0.0

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
        used = self._used()
        left, idle = self._seconds - used, now - self._begun - used
        if self._clock and self._clock.is_ready:
            self.ready += max(0.0, idle - self._idle)
        self._idle = idle
        end = min(self._end + self.ready, self._begun + BUSY * self._seconds)
        self._look = min(end, now + max(LOOK_SECONDS, left))
        return left <= 0 or now >= end

    def until_next_look(self) -> float:
        """Seconds until `is_over` can say anything else, at most LOOK_SECONDS."""
        return min(LOOK_SECONDS, max(0.0, self._look - time.monotonic()))

    def waited(self) -> float:
        """The seconds in which they used no processor and weren't ready for one, as far as that was looked at."""
        passed = time.monotonic() - self._begun
        return max(0.0, passed - self._used() - self.ready) if self._clock else 0.0

    def by_clock(self) -> bool:
        """Whether the time by the clock is over, and processor time is left."""
        return self._counted and time.monotonic() >= self._end and self._used() < self._seconds
