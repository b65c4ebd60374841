"""Who examines submissions: processes on this machine (for others see `cluster`).

The process that starts them alone reads submissions and writes results.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing import forkserver as process_server
from pathlib import Path
from typing import Protocol

import nbformat
from nbformat import NotebookNode

from autograder.grade.examine import Limits, examined
from autograder.grade.submission import Submission
from autograder.kernels import forkserver

CREW = "crew-"


@dataclass
class Task:
    """A submission to examine, and whose it is."""

    student: str
    exercise: str
    submission: Submission


class Crew(Protocol):
    """Something that examines submissions elsewhere."""

    room: int
    deaths: tuple[type[BaseException], ...]

    def start(self) -> None:
        """Begin, also after `stop`."""

    def submit(self, task: Task) -> Future:
        """Have a submission examined; a worker that ended in between raises one of `deaths`."""

    def stop(self) -> None:
        """End what runs."""


@functools.lru_cache(maxsize=32)
def _paper(path: Path) -> dict:
    paper = json.loads(path.read_text(encoding="utf-8"))
    paper["release"] = nbformat.from_dict(paper["release"])
    return paper


def _examine(path: Path, submission: Submission, limits: Limits) -> NotebookNode:
    """In a worker: examine a submission with the paper in a file."""
    return examined(_paper(path), submission, limits)


def _begin(folder: str) -> None:
    """In a new worker, before it has threads: fork the process that kernels will be forked from.

    folder: where kernels' files go.
    """
    tempfile.tempdir = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if forkserver.available():
        forkserver.server()
    threading.Thread(target=_end_with_coordinator, daemon=True).start()


def _end_with_coordinator() -> None:
    """In a worker: end when the process that gives out work has, for a pool's workers wait for ever."""
    connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


class LocalCrew:
    """Processes on this machine that have imported all that kernels need.

    On Linux they are forked from one that has, which costs next to nothing.

    papers: by exercise, from `papers.paper`; workers: how many, by default one a core.
    """

    deaths = (BrokenProcessPool,)

    def __init__(self, papers: Mapping[str, dict], limits: Limits, workers: int | None) -> None:
        self._limits = limits
        self._workers = workers or os.cpu_count() or 1
        self.room = 2 * self._workers
        if forkserver.available():
            _tidy()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{CREW}{os.getpid()}-"))
        for name in ("papers", "kernels"):
            (self._folder / name).mkdir()
        for exercise, paper in papers.items():
            self._path(exercise).write_text(json.dumps(paper), encoding="utf-8")

    def _path(self, exercise: str) -> Path:
        return self._folder / "papers" / f"{exercise}.json"

    def start(self) -> None:
        """Begin, also after `stop`."""
        context = None
        if forkserver.available():
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(
                ["autograder.grade.worker_pool", "autograder.kernels.preload"]
            )
            with forkserver.clean_environment():
                process_server.ensure_running()
        # what else this process has started is none of a crew's business
        self._others = set(multiprocessing.active_children())
        own = (str(self._folder / "kernels"),)
        self._pool = ProcessPoolExecutor(self._workers, context, initializer=_begin, initargs=own)

    def submit(self, task: Task) -> Future:
        """Have a submission examined."""
        return self._pool.submit(_examine, self._path(task.exercise), task.submission, self._limits)

    def stop(self) -> None:
        """End what runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - self._others:
            process.terminate()
            process.join()

    def __enter__(self) -> LocalCrew:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _tidy() -> None:
    """Remove what crews of this user have left whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{CREW}*"):
        owner = folder.name.removeprefix(CREW).split("-")[0]
        if owner.isdigit() and folder.stat().st_uid == os.getuid() and not _runs(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def examine_all(tasks: Iterator[Task], crew: Crew) -> Iterator[tuple[Task, NotebookNode | None]]:
    """Every task with its examined notebook, as they come.

    A submission is taken from tasks when there is room for it. One whose worker ends is examined once
    more, alone; if it ends that worker too, it comes with None.
    """
    pending: dict[Future, Task] = {}
    suspects: list[Task] = []
    crew.start()
    try:
        while True:
            # with a suspect about, what runs is let finish, and nothing new begins
            while len(pending) < crew.room and not suspects and (task := next(tasks, None)):
                pending[crew.submit(task)] = task
            if pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    task = pending.pop(future)
                    try:
                        notebook = future.result()
                    except crew.deaths:
                        suspects.append(task)
                    else:
                        yield task, notebook
            elif suspects:
                task = suspects.pop()
                crew.stop()
                crew.start()
                try:
                    notebook = crew.submit(task).result()
                except crew.deaths:
                    notebook = None
                    crew.stop()
                    crew.start()
                yield task, notebook
            else:
                return
    finally:
        crew.stop()
