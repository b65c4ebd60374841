"""Processes that write pages made from submissions, with limits: a page that takes too much costs no other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

# more would wait for the disk and the gradebook
MAX_WORKERS = 4
# what a page may take, beside what the process has before: bytes, and seconds of computing
MAX_MEMORY, MAX_SECONDS = 1_000_000_000, 120
# the place in /proc/self/statm of the pages of memory that a process may write to
DATA = 5

Page = tuple[str, str]
Write = Callable[[str, str], bool]


def written_pages(write: Write, pages: Sequence[Page]) -> Iterator[tuple[Page, bool | str]]:
    """Call write(student, exercise) for every page; yields what it returns, or why a page wasn't written.

    On Linux it runs in processes that are forked from this one, so that it may be any function.
    """
    if sys.platform != "linux":
        for page in pages:
            yield page, _outcome(write, page)
        return
    waiting = list(reversed(pages))
    idle = [_Worker(write) for _ in range(min(MAX_WORKERS, os.cpu_count() or 1, len(pages)))]
    busy: dict[Future, tuple[_Worker, Page]] = {}
    try:
        while waiting or busy:
            while waiting and idle:
                worker, page = idle.pop(), waiting.pop()
                busy[worker.submit(page)] = worker, page
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                worker, page = busy.pop(future)
                outcome: bool | str
                try:
                    outcome = future.result()
                except BrokenProcessPool:
                    outcome = "it takes too much memory or time"
                    worker = worker.replaced()
                # before the page is given on: who asks for no more of them ends every worker
                idle.append(worker)
                yield page, outcome
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.end()


class _Worker:
    """One process that writes one page at a time, so that its end has one cause."""

    def __init__(self, write: Write) -> None:
        self._write = write
        context = multiprocessing.get_context("fork")
        self._pool = ProcessPoolExecutor(1, context, initializer=_begin, initargs=(write,))

    def submit(self, page: Page) -> Future[bool | str]:
        """Write a page."""
        return self._pool.submit(_write_limited, page)

    def replaced(self) -> _Worker:
        """Another worker in place of one whose process has ended."""
        self.end()
        return _Worker(self._write)

    def end(self) -> None:
        """End the process."""
        self._pool.shutdown(wait=True, cancel_futures=True)


_own: dict[str, Any] = {}


def _begin(write: Write) -> None:
    """In a new worker: keep what writes a page, and limit this process's memory."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _own["write"] = write
    pages = int(Path("/proc/self/statm").read_text().split()[DATA])
    most = pages * resource.getpagesize() + MAX_MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _write_limited(page: Page) -> bool | str:
    # its default ends the process, whatever library computes
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        return _outcome(_own["write"], page)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _outcome(write: Write, page: Page) -> bool | str:
    """What writing a page returns, or why it fails: an error may hold what no other process can be given."""
    try:
        return write(*page)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
