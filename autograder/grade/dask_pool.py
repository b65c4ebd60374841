"""A worker pool on many machines: a dask.distributed cluster.

Its workers need what requirements.txt installs, and nothing else: this package travels to them as a zip
file. They examine; the coordinating process alone reads submissions and writes results. Certificates for TLS
come from Dask's own configuration.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import ipaddress
import socket
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, Self

from distributed import Client
from distributed.comm import CommClosedError, parse_address
from distributed.scheduler import KilledWorker

from autograder.errors import WorkerPoolError
from autograder.grade.answer_key import AnswerKey
from autograder.grade.examine import Graded, grade_submission
from autograder.grade.worker_pool import GradingJob
from autograder.instructor_settings import Settings
from autograder.kernels import sandbox
from autograder.package import PACKAGE, PACKAGE_ROOT
from autograder.progress import say

CONNECT_SECONDS = 15
# what the result of an examination depends on
SAME_VERSION = ("ipykernel", "jupyter_client", "nbformat", "nbgrader", "nh3", "numpy", "torch")
_one_kernel = threading.Lock()


def _examine(key: str, task: GradingJob, settings: Settings, require_sandbox: bool) -> Graded:
    """In a worker: examine a submission, one at a time.

    Whether it has a sandbox is decided here and now: a worker may have joined after the others were
    asked. Raises SandboxError when one is required and this machine offers none.
    """
    reason = sandbox.why_not()
    if reason and require_sandbox:
        sandbox.warn(f"worker on {socket.gethostname()}: {reason}", required=True)
    limits = dataclasses.replace(settings.limits, sandbox=not reason)
    with _one_kernel:
        return grade_submission(
            task.submission,
            task.own_key or AnswerKey.from_json(key),
            dataclasses.replace(settings, limits=limits),
        )


def _twice(ask: Callable[[], Any]) -> Any:
    """Ask all workers for something; should one end meanwhile, once more, those that are left."""
    try:
        return ask()
    except (CommClosedError, KeyError):
        return ask()


def is_open(address: str) -> bool:
    """Whether a scheduler at an address may be reached from other machines, without a certificate."""
    scheme, place = parse_address(address)
    host = place.rpartition(":")[0].strip("[]")
    if scheme != "tcp" or host == "localhost":
        return False
    with contextlib.suppress(ValueError):
        return not ipaddress.ip_address(host).is_loopback
    return True


def _warn_if_open(address: str) -> None:
    if is_open(address):
        print(
            f"Whoever reaches {address} over the network can run code there and on the workers, and read the "
            'answer keys. Use TLS: see "A large class" on the page "Running a class".',
            file=sys.stderr,
        )


class DaskPool:
    """The workers of a Dask cluster, as a worker pool. A context manager.

    Args:
        address: the scheduler's, like tcp://host:8786.
        keys: answer keys by exercise.
        settings: the grader's.
        require_sandbox: refuse workers that cannot make a sandbox.

    Raises:
        WorkerPoolError: no scheduler answers, or a worker is not fit.
    """

    # CancelledError: all workers that held a scattered answer key died
    worker_died = (KilledWorker, CancelledError)

    def __init__(
        self,
        address: str,
        keys: Mapping[str, AnswerKey],
        settings: Settings,
        require_sandbox: bool,
    ) -> None:
        self._keys, self._settings = keys, settings
        self._require_sandbox = require_sandbox
        try:
            self._client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TypeError, ValueError) as error:
            # TypeError: tls:// without a certificate in Dask's configuration
            raise WorkerPoolError(
                f"No Dask scheduler answers at {address} ({error}). Start one with `dask scheduler`, and "
                "workers with `dask worker ADDRESS --nthreads 1`. One that wants certificates has an address "
                "that begins with tls://, and this process needs one as well."
            ) from error
        _warn_if_open(address)
        try:
            _twice(self._prepare)
        except BaseException:
            self._client.close()
            raise
        self.most_seconds = settings.limits.notebook_seconds
        # a worker has one submission in hand and one in wait
        self.capacity = 2 * len(self._client.scheduler_info(n_workers=-1)["workers"])

    def _prepare(self) -> None:
        """Look whether the workers are fit, and send them this package."""
        if not self._client.scheduler_info(n_workers=-1)["workers"]:
            raise WorkerPoolError(
                "The Dask cluster has no workers yet: start some with `dask worker ADDRESS --nthreads 1`."
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "autograder-package.zip")
            with zipfile.ZipFile(path, "w") as file:
                for source in sorted(PACKAGE.rglob("*.py")):
                    file.write(source, source.relative_to(PACKAGE_ROOT).as_posix())
            self._refuse_other_versions()
            self._client.run(_forgetting())
            self._client.upload_file(str(path))
        for worker, reason in self._client.run(sandbox.why_not).items():
            if reason:
                sandbox.warn(f"worker {worker}: {reason}", self._require_sandbox)
        grouped = [*self._client.run(sandbox.has_control_groups).values()]
        if not all(grouped):
            say(
                f"{grouped.count(False)} of {len(grouped)} workers: {sandbox.NO_GROUPS}", error=True
            )

    def _refuse_other_versions(self) -> None:
        """A worker with another torch would give other numbers."""
        found: Any = self._client.get_versions(check=False, packages=list(SAME_VERSION))
        own = _plain(found["client"]["packages"])
        for worker, other in found["workers"].items():
            theirs = _plain(other["packages"])
            unlike = [f"{k} {theirs[k]}, not {own[k]}" for k in own if theirs[k] != own[k]]
            if unlike:
                raise WorkerPoolError(
                    f"The worker {worker} has other versions than this process: {'; '.join(unlike)}. "
                    "Install requirements.txt there, or stop that worker."
                )

    def start(self) -> None:
        """Begin, also after `stop`."""
        # hear of a dead worker at once: by default a task may end four of them first
        self._usual = self._allow_failures(0)
        self._executor = self._client.get_executor()
        self._scattered = {
            name: _twice(
                functools.partial(self._client.scatter, key.to_json(), broadcast=True, hash=False)
            )
            for name, key in self._keys.items()
        }

    def submit(self, task: GradingJob) -> Future[Graded]:
        """Have a submission examined."""
        key = self._scattered[task.exercise]
        return self._executor.submit(_examine, key, task, self._settings, self._require_sandbox)

    def stop(self) -> None:
        """End what runs."""
        self._executor.shutdown(wait=False)
        self._allow_failures(self._usual)

    def _allow_failures(self, number: int) -> int:
        """Set how often a task may end a worker before we hear of it; returns the number before."""

        def exchange(dask_scheduler: Any = None) -> int:
            before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, number
            return before

        return self._client.run_on_scheduler(exchange)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


def _forgetting() -> Callable[[], None]:
    """A function that lets a worker forget this package as it was sent to it before."""

    def forget() -> None:
        import sys

        for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
            del sys.modules[name]

    return forget


def _plain(packages: dict) -> dict[str, str]:
    """The versions that matter, without what builds of one version add, like +cpu."""
    found = {name: str(packages[name]).partition("+")[0] for name in SAME_VERSION}
    return {"python": ".".join(packages["python"].split(".")[:2]), **found}
