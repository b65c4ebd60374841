"""Who examines submissions: a pool of processes on this machine.

The process that starts them alone reads submissions and writes results.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import warm
from autograder.examination import Limits, examined, refused
from autograder.submission import Submission

DEATHS = (BrokenProcessPool,)
KILLER = (
    "Grading this submission ended the grader's own process twice, so it was given up. Your instructor "
    "will look at it."
)


@dataclass
class Task:
    """A submission to examine, and whose it is."""

    student: str
    exercise: str
    submission: Submission


@functools.lru_cache(maxsize=32)
def _paper(path: Path) -> dict:
    paper = json.loads(path.read_text(encoding="utf-8"))
    paper["release"] = nbformat.from_dict(paper["release"])
    return paper


def _examine(path: Path, submission: Submission, limits: Limits) -> NotebookNode:
    """In a worker: examine a submission with the paper in a file."""
    return examined(_paper(path), submission, limits)


def _begin() -> None:
    """In a new worker, before it has threads: fork the process that kernels will be forked from."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if warm.available():
        warm.end_with_parent()
        warm.server()


def _pool(workers: int) -> ProcessPoolExecutor:
    """Processes that have imported all that kernels need; on Linux, forked from one that has."""
    if not warm.available():
        return ProcessPoolExecutor(workers, initializer=_begin)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["autograder.workers", "autograder.preload"])
    with warm.clean_environment():
        forkserver.ensure_running()
    return ProcessPoolExecutor(workers, context, initializer=_begin)


def examine_all(
    tasks: Iterable[Task], papers: Mapping[str, dict], limits: Limits, workers: int | None = None
) -> Iterator[tuple[Task, NotebookNode]]:
    """Examine submissions; yields each with its examined notebook, as they come.

    A submission is taken from tasks when there is room for it. One that ends its worker is examined
    once more, alone; if it does so again, that is what is recorded.

    papers: by exercise, from `papers.paper`; workers: processes, by default one a core.
    """
    count = workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="papers-") as folder:
        paths = {}
        for exercise, paper in papers.items():
            paths[exercise] = Path(folder) / f"{exercise}.json"
            paths[exercise].write_text(json.dumps(paper), encoding="utf-8")

        def submit(executor: Executor, task: Task) -> Future:
            return executor.submit(_examine, paths[task.exercise], task.submission, limits)

        start = functools.partial(_pool, count)
        for task, notebook in _results(iter(tasks), start, submit, room=2 * count):
            if notebook is None:
                notebook = refused(papers[task.exercise], task.submission, KILLER)
            yield task, notebook


def _results(
    tasks: Iterator[Task],
    start: Callable[[], Executor],
    submit: Callable[[Executor, Task], Future],
    room: int,
) -> Iterator[tuple[Task, NotebookNode | None]]:
    """Every task with its result, or with None if it has ended a worker twice."""
    executor = start()
    pending: dict[Future, Task] = {}
    suspects: list[Task] = []
    try:
        while True:
            # with a suspect about, what runs is let finish, and nothing new begins
            while len(pending) < room and not suspects and (task := next(tasks, None)):
                pending[submit(executor, task)] = task
            if pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    task = pending.pop(future)
                    if isinstance(future.exception(), DEATHS):
                        suspects.append(task)
                    else:
                        yield task, future.result()
            elif suspects:
                task = suspects.pop()
                executor.shutdown()
                executor = start()
                future = submit(executor, task)
                died = isinstance(future.exception(), DEATHS)
                yield task, None if died else future.result()
                if died:
                    executor.shutdown()
                    executor = start()
            else:
                executor.shutdown()
                return
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
