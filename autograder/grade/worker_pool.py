"""Worker pools: who examines submissions. Here processes on this machine; see also `dask_pool`.

The coordinating process alone reads submissions and writes results.
"""

from __future__ import annotations

import contextlib
import functools
import math
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import connection
from multiprocessing import forkserver as process_server
from pathlib import Path
from typing import Protocol, Self

from autograder.errors import WorkerPoolError
from autograder.files import let_sockets_fit
from autograder.grade.answer_key import AnswerKey
from autograder.grade.examine import Graded, grade_submission
from autograder.grade.submission import Submission
from autograder.instructor_settings import Settings
from autograder.kernels import forkserver
from autograder.programs import VERSIONED
from autograder.progress import say
from autograder.text import plain_text

FOLDER = "autograder-pool-"
# without a graded submission, until the instructor is told what is waited for
TELL_SECONDS = 20


@dataclass(frozen=True)
class GradingJob:
    """A submission to examine, its exercise, and its own answer key if it isn't the class's."""

    exercise: str
    submission: Submission
    own_key: AnswerKey | None = None

    def __str__(self) -> str:
        return plain_text(f"{self.submission.student} {self.exercise}")


class WorkerPool(Protocol):
    """Processes that examine submissions.

    capacity: how many submissions to hand out at a time, those in work and those in wait; most_seconds: how
    long one may compute; worker_died: what a future raises whose worker ended.
    """

    capacity: int
    most_seconds: float

    @property
    def worker_died(self) -> tuple[type[BaseException], ...]: ...

    def start(self) -> None:
        """Begin, also after `stop`."""

    def submit(self, task: GradingJob) -> Future[Graded]:
        """Have a submission examined."""

    def stop(self) -> None:
        """End what runs."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *failure: object) -> None: ...


@functools.lru_cache(maxsize=32)
def _key(path: Path) -> AnswerKey:
    return AnswerKey.from_json(path.read_text(encoding="utf-8"))


def _examine(path: Path, task: GradingJob, settings: Settings) -> Graded:
    """In a worker: examine a submission with the answer key in a file."""
    return grade_submission(task.submission, _key(path), settings)


def _begin(folder: str, python: str, source: Path) -> None:
    """In a new worker: get the fork server of its kernels.

    folder: where kernels' files go; python: their interpreter; source: of copied fork servers.
    """
    tempfile.tempdir = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if forkserver.available():
        forkserver.copy_from(python, source)
    threading.Thread(target=_end_with_coordinator, daemon=True).start()


def _end_with_coordinator() -> None:
    """In a worker: end when the coordinator ends, because a pool's workers would wait for ever."""
    if coordinator := multiprocessing.parent_process():
        connection.wait([coordinator.sentinel])
    os._exit(1)


class LocalPool:
    """Worker processes on this machine. A context manager.

    On Linux they are forked from a process that has imported what they need, which is cheap, and their
    kernels from another, which knows nothing that is secret.

    keys: answer keys by exercise; workers: how many processes, by default one a core; submissions: how many
    they are to examine, None for very many.
    """

    worker_died = (BrokenProcessPool,)

    def __init__(
        self,
        keys: Mapping[str, AnswerKey],
        settings: Settings,
        workers: int | None,
        submissions: int | None = None,
    ) -> None:
        self._settings = settings
        self._workers = workers or os.cpu_count() or 1
        # Workers restore inputs in order to say how a value is wrong. What that takes is imported once for all,
        # unless they are so few that each may do without, or do it for itself.
        used = {name for key in keys.values() for name in key.packages}
        few = submissions is not None and submissions <= self._workers
        self._packages = [] if few else [name for name in VERSIONED if name in used]
        self.capacity, self.most_seconds = 2 * self._workers, settings.limits.notebook_seconds
        let_sockets_fit()
        if forkserver.available():
            _remove_left_folders()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        for name in ("keys", "kernels"):
            (self._folder / name).mkdir()
        for exercise, key in keys.items():
            self._path(exercise).write_text(key.to_json(), encoding="utf-8")

    def _path(self, name: str) -> Path:
        return self._folder / "keys" / f"{name}.json"

    def start(self) -> None:
        """Begin, also after `stop`. Raises WorkerPoolError when the processes can't start."""
        context = None
        python, socket = self._settings.python, self._folder / "forks"
        if forkserver.available():
            self._source = forkserver.ForkServerSource(python, socket)
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload([*self._packages, "autograder.grade.preload"])
            with forkserver.clean_environment():
                process_server.ensure_running()
        # this process may have started others, which are not ours to end
        self._others = set(multiprocessing.active_children())
        own = (str(self._folder / "kernels"), python, socket)
        self._pool = ProcessPoolExecutor(self._workers, context, initializer=_begin, initargs=own)
        try:
            # workers that can't start must not be taken for workers that submissions have ended
            self._pool.submit(os.getpid).result()
        except BrokenProcessPool as error:
            self.stop()
            raise WorkerPoolError(
                "The worker processes end while they start, before they are given a submission. Their own error "
                "messages are above. What was recorded so far is kept: correct the cause, then run the command "
                "again to go on."
            ) from error

    def submit(self, task: GradingJob) -> Future[Graded]:
        """Have a submission examined."""
        path = self._path(task.exercise)
        if task.own_key:
            # those who hand in late share one
            path = self._path(task.own_key.digest)
            if not path.exists():
                path.write_text(task.own_key.to_json(), encoding="utf-8")
            task = replace(task, own_key=None)
        return self._pool.submit(_examine, path, task, self._settings)

    def stop(self) -> None:
        """End the processes that this pool has started."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - self._others:
            process.terminate()
            process.join()
        if forkserver.available():
            self._source.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _remove_left_folders() -> None:
    """Remove folders of this user's pools whose coordinator was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        owner = folder.name.removeprefix(FOLDER).split("-")[0]
        with contextlib.suppress(OSError):
            mine = folder.stat().st_uid == os.getuid()
            if owner.isdigit() and mine and not Path(f"/proc/{owner}").exists():
                shutil.rmtree(folder, ignore_errors=True)


def examine_all(
    tasks: Iterator[GradingJob], pool: WorkerPool, at_once: int | None = None
) -> Iterator[tuple[GradingJob, Graded | None]]:
    """Every task with its graded submission, as they come.

    A submission is taken from tasks when the pool has capacity for it, or when fewer than at_once are in hand. One
    whose worker died is examined once more, alone; if that worker dies as well, it comes with None. The instructor
    is told of both.
    """
    pending: dict[Future, GradingJob] = {}
    suspects: list[GradingJob] = []
    pool.start()
    try:
        while True:
            # drain the pool before retrying tasks that may have killed their worker
            while (
                len(pending) < (at_once or pool.capacity)
                and not suspects
                and (task := next(tasks, None))
            ):
                pending[pool.submit(task)] = task
            if pending:
                lost = []
                done = wait(pending, TELL_SECONDS, FIRST_COMPLETED).done
                if not done:
                    _tell_of_waiting(list(pending.values()), pool)
                for future in done:
                    task = pending.pop(future)
                    try:
                        graded = future.result()
                    except pool.worker_died:
                        lost.append(task)
                    else:
                        yield task, graded
                if lost:
                    suspects += lost
                    _tell_of_lost_worker(lost)
            elif suspects:
                task = suspects.pop()
                pool.stop()
                pool.start()
                try:
                    graded = pool.submit(task).result()
                except pool.worker_died:
                    graded = None
                    say(f"{task}: the worker ended again. It gets 0.", error=True)
                    pool.stop()
                    pool.start()
                yield task, graded
            else:
                return
    finally:
        pool.stop()


def _tell_of_waiting(tasks: Sequence[GradingJob], pool: WorkerPool) -> None:
    names = ", ".join(map(str, tasks[: math.ceil(pool.capacity / 2)]))
    say(f"Waiting for {names}, at most {pool.most_seconds:g} s of computing each.", error=True)


def _tell_of_lost_worker(lost: Sequence[GradingJob]) -> None:
    names = ", ".join(map(str, lost))
    say(
        f"A worker ended before it had examined what it had in hand: {names}. Nothing is lost; each is "
        "examined once more, by itself.",
        error=True,
    )
