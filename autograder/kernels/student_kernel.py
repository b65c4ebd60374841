"""A student's kernel: the one process that runs what a submission says, and is trusted in nothing."""

from __future__ import annotations

import contextlib
import functools
import importlib.resources
import json
import math
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import zmq
from nbformat import NotebookNode

from autograder import embedding
from autograder.files import let_sockets_fit
from autograder.instructor_settings import Settings
from autograder.kernels import forkserver, jupyter_adapter
from autograder.kernels.control_group import ControlGroup
from autograder.kernels.kernel_memory import KernelMemory
from autograder.kernels.outputs import Allowance, Outputs
from autograder.kernels.processor_time import LOOK_SECONDS, ProcessorTime, TimeLimit, available
from autograder.kernels.protocol import CONNECTION, ENDED, ERROR, FORBIDDING, WORK
from autograder.kernels.sandbox import MAX_PROCESSES
from autograder.package import PACKAGE

# after so many messages that can't be read, a kernel is ended
MAX_UNREADABLE = 1_000
# the order of sets; and torch's ways to compile beside `torch.compile`, which `in_kernel` replaces
SAME_EACH_TIME = {**forkserver.HASH_SEED, "TORCH_COMPILE_DISABLE": "1"}
# seconds that an interrupted kernel has to come back
GRACE = 5.0
# Of a wait for a kernel's end: how many times as long it may get, and the share of a core of one that's idle.
PATIENCE, IDLE = 10, 0.03
# On a machine with too much to do, starting takes long. No student's code is there to be stopped.
START_SECONDS = 600
FOLDER = "grade-"
# part of a kernel's private folder that only the grader sees
RELAYS = "relays"
REPLY_MIME = "application/x-autotest+json"


def _begin_code(seed: int, is_apart: bool) -> str:
    """What is executed first in every kernel. One that was forked from the fork server has the runtime already."""
    packed = "" if forkserver.available() else embedding.packed_sources()
    return (
        f"{embedding.loader()}\n_begun = {{'__name__': 'kernel_settings'}}\nexec({_in_kernel()!r}, _begun)\n"
        f"_begun['begin'](load_checks, {packed!r}, {embedding.PACKAGE!r}, {seed}, {REPLY_MIME!r}, "
        f"{is_apart})\n"
        "del _begun, load_checks\n"
    )


@functools.cache
def _in_kernel() -> str:
    # the package may be in a zip file: so it travels to the workers of a Dask cluster
    path = importlib.resources.files("autograder.kernels").joinpath("in_kernel.py")
    return embedding.without_words(path.read_text(encoding="utf-8"))


class KernelStartError(RuntimeError):
    """A kernel that did not come so far as to run a student's code; the message says why."""


@dataclass
class Reply:
    """What came of one message: status is "ok", "error", "timeout" or "dead".

    values: what came of each request in it, None for nothing; cut: whether some output was left out;
    processor_seconds: what the kernel and all processes that it has started have used meanwhile, as
    Linux counts it; None elsewhere. ready, waited: seconds in which they had no processor, although they were ready
    to compute, and because they weren't, as far as that was looked at; by_clock: whether it was stopped although
    they had not used their time.
    """

    status: str
    outputs: list[NotebookNode] = field(default_factory=list)
    values: tuple[str | None, ...] = ()
    processor_seconds: float | None = None
    ready: float = 0.0
    waited: float = 0.0
    by_clock: bool = False
    cut: bool = False

    @property
    def value(self) -> str | None:
        """What came of the only request, None for nothing."""
        return self.values[0] if self.values else None


class StudentKernel:
    """A kernel in a private folder, with a private environment. A context manager.

    settings: its interpreter, its limits, and whether it runs in a sandbox; companions: files to lay
    into its working directory, by name; seed: of random numbers that its code doesn't seed. Raises
    KernelStartError.
    """

    def __init__(
        self, settings: Settings, companions: Mapping[str, bytes] | None = None, seed: int = 0
    ) -> None:
        if settings.user and not forkserver.available():
            raise KernelStartError("this system can't start kernels as another user")
        self._python, self._limits, self._user = settings.python, settings.limits, settings.user
        let_sockets_fit()
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        self.dead = False
        self._clock: ProcessorTime | None = None
        self._memory: KernelMemory | None = None
        self._shown, self._seed = Allowance(), seed
        for name in (WORK, CONNECTION, "home", "tmp"):
            (self._folder / name).mkdir()
        for name, content in (companions or {}).items():
            (self._folder / WORK / name).write_bytes(content)
        hidden = (PACKAGE, settings.course) if settings.course else (PACKAGE,)
        self._group = ControlGroup()
        if self._limits.sandbox or self._user:
            self._group = ControlGroup.make(self._limits.memory_bytes, MAX_PROCESSES)
        self._manager = jupyter_adapter.kernel_manager(
            self._folder, self._python, self._limits, hidden, self._user, self._group.folders
        )

    def _environment(self) -> dict[str, str]:
        home = str(self._folder / "home")
        # a user of its own has no account that tells its name
        name = {"LOGNAME": "student"} if self._user else {}
        return forkserver.kept_environment() | {
            "HOME": home,
            "IPYTHONDIR": home,
            "JUPYTER_CONFIG_DIR": home,
            "MPLCONFIGDIR": home,
            "TMPDIR": str(self._folder / "tmp"),
            "PYTHONSAFEPATH": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            **SAME_EACH_TIME,
            **name,
        }

    @property
    def limit(self) -> str:
        """The limit that has ended it, "memory" or "time", if it was one."""
        path = self._folder / ENDED
        said = path.read_text() if path.exists() else ""
        return said or ("memory" if self._group.killed() else "")

    def __enter__(self) -> StudentKernel:
        try:
            self._manager.start_kernel(
                cwd=str(self._folder / WORK),
                env=self._environment(),
                extra_arguments=["--HistoryManager.hist_file=:memory:"],
            )
            self._wait_for_sockets()
            # made now, so that it belongs to nobody else where the kernel's files are another user's
            relays = self._folder / RELAYS
            relays.mkdir(mode=0o700)
            self._client, self._relays = jupyter_adapter.open_client(self._manager, relays)
            self._poller = zmq.Poller()
            for channel in (self._client.shell_channel, self._client.iopub_channel):
                self._poller.register(channel.socket, zmq.POLLIN)
            self._wait_for_welcome()
            is_apart = self._limits.sandbox or bool(self._user)
            begun = self.run(_begin_code(self._seed, is_apart), START_SECONDS)
            if begun.status != "ok":
                self._did_not_start(str(begun))
            if self._limits.sandbox or self._user:
                self._memory = KernelMemory(self._python, jupyter_adapter.process_of(self._manager))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(AttributeError):
            self._client.stop_channels()
            for relay in self._relays.values():
                relay.close()
        if self._manager.has_kernel:
            jupyter_adapter.end_kernel(self._manager)
        jupyter_adapter.close(self._manager)
        if forkserver.available() and not self._limits.sandbox:
            # a sandbox ends with all its processes
            forkserver.clean_up(self._python, self._user)
        self._group.remove()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_for_sockets(self) -> None:
        """Wait until the kernel listens: connecting before bind() costs ZeroMQ's reconnect interval."""
        deadline = time.monotonic() + START_SECONDS
        while not jupyter_adapter.is_listening(self._manager):
            if time.monotonic() > deadline or not self._manager.is_alive():
                self._did_not_start("it does not listen")
            time.sleep(0.002)

    def _wait_for_welcome(self) -> None:
        """Wait until the subscription to the kernel's outputs is in effect; earlier ones are lost."""
        socket = self._client.iopub_channel.socket
        while socket.poll(START_SECONDS * 1000):
            message = jupyter_adapter.read_message(self._client.session, socket.recv_multipart())
            if message["msg_type"] == jupyter_adapter.WELCOME:
                return
        self._did_not_start("it does not answer")

    def _did_not_start(self, why: str) -> NoReturn:
        error = self._folder / CONNECTION / ERROR
        raise KernelStartError(error.read_text() if error.exists() else why)

    def run(self, code: str, timeout: float) -> Reply:
        """Execute code as a cell, for at most timeout seconds of the processor."""
        return self._converse(timeout, code=code, store_history=True)

    def ask(self, request: dict, timeout: float, timed: bool = False) -> Reply:
        """Evaluate an autotest request (see `runtime.evaluate.serve`); the answer, if any, is in value.

        timed: measure the processor time, too.
        """
        if not timed or not available():
            return self.ask_together([request], timeout)
        self._clock = ProcessorTime(jupyter_adapter.process_of(self._manager))
        begun = self._clock.seconds()
        reply = self.ask_together([request], timeout)
        used, self._clock = self._clock.seconds() - begun, None
        return replace(reply, processor_seconds=used)

    def ask_together(self, requests: Sequence[dict], timeout: float) -> Reply:
        """Evaluate several autotest requests, in order and in one message; the answers are in values."""
        asked = {
            str(number): f"__import__('sys').modules['_autotest_reply']({json.dumps(request)!r})"
            for number, request in enumerate(requests)
        }
        forbidding = self._folder / CONNECTION / FORBIDDING
        if any(request["forbidden"] for request in requests):
            forbidding.touch()
        try:
            return self._converse(timeout, code="", store_history=False, user_expressions=asked)
        finally:
            forbidding.unlink(missing_ok=True)

    @contextlib.contextmanager
    def limited_memory(self, megabytes: int) -> Iterator[str | None]:
        """Limit from outside, for its duration, how much more memory the kernel can get.

        Gives why nothing should be asked now, as `KernelMemory.limited` says, and None where there is no
        such limit.
        """
        if self.dead or not (self._memory and self._memory.can_be_limited):
            yield None
            return
        with self._memory.limited(megabytes) as refused:
            yield refused

    def define(self, name: str, expression: str, timeout: float) -> Reply:
        """Bind a name of the notebook to what an expression gives; the history doesn't show it."""
        shell = "__import__('sys').modules['IPython'].get_ipython()"
        statement = f"{shell}.user_ns.__setitem__({name!r}, {expression})"
        return self._converse(
            timeout, code="", store_history=False, user_expressions={"0": statement}
        )

    def _converse(self, timeout: float, **request: Any) -> Reply:
        if self.dead:
            return Reply("dead")
        message = self._client.execute(**request, allow_stdin=False, stop_on_error=False)
        outputs = Outputs(self._limits.output_characters, self._shown, str(self._folder))
        limit = self._time_limit(timeout)
        content = self._wait(message, outputs, limit)
        if content is None and not self.dead:
            waited = limit.ready, limit.waited()
            stopped = Reply("timeout", outputs.kept, (), None, *waited, limit.by_clock())
            self._manager.interrupt_kernel()
            if self._wait(message, outputs, self._time_limit(GRACE)) is None:
                self.kill()
            return stopped
        if content is None:
            return Reply("dead", outputs.kept)
        status = "ok" if content.get("status") == "ok" else "error"
        values = tuple(_value(content, name) for name in request.get("user_expressions", ()))
        waited = limit.ready, limit.waited()
        return Reply(status, outputs.kept, values, None, *waited, cut=outputs.is_cut)

    def _time_limit(self, seconds: float) -> TimeLimit:
        return TimeLimit(jupyter_adapter.process_of(self._manager), seconds)

    def kill(self) -> None:
        """End the kernel; whatever is asked of it afterwards is answered by "dead"."""
        self.dead = True
        jupyter_adapter.end_kernel(self._manager)

    def wait_for_end(self, seconds: float) -> None:
        """Wait so long, or until the kernel has ended by itself; up to PATIENCE times as long if it computes.

        On a busy machine, what ends it may take that much longer.
        """
        clock, begun = ProcessorTime(jupyter_adapter.process_of(self._manager)), time.monotonic()
        computed, waited, computes = clock.seconds(), 0.0, False
        while not self.dead and waited < (PATIENCE if computes else 1) * seconds:
            time.sleep(LOOK_SECONDS)
            self.dead = not self._manager.is_alive()
            before, computed = computed, clock.seconds()
            waited, computes = time.monotonic() - begun, computed - before > IDLE * LOOK_SECONDS

    def _wait(self, message: str, outputs: Outputs, limit: TimeLimit) -> dict | None:
        """The reply's content, once the kernel is idle again; None when its time is over, and on death."""
        content, idle, unreadable, looked = None, False, 0, time.monotonic()
        idle_by = math.inf
        while content is None or not idle:
            now = time.monotonic()
            if self._clock and now > looked + LOOK_SECONDS:
                self._clock.seconds()
                looked = now
            if content is not None:
                idle_by = min(idle_by, now + 1.0)
            if now >= idle_by or limit.is_over():
                break
            ready = dict(self._poller.poll(int(limit.until_next_look() * 1000)))
            if not ready and not self._manager.is_alive():
                self.dead = True
                break
            if self._relays["iopub"].dropped():
                outputs.cut()
            if self._relays["shell"].dropped():
                outputs.cut()
                content = {"status": "error"}
            for channel in (self._client.iopub_channel, self._client.shell_channel):
                if channel.socket not in ready:
                    continue
                try:
                    parts = channel.socket.recv_multipart(zmq.NOBLOCK)
                    found = jupyter_adapter.read_message(self._client.session, parts)
                    if found["parent_header"].get("msg_id") != message:
                        continue
                    kind = found["msg_type"]
                    if channel is self._client.shell_channel:
                        content = found["content"]
                        content.get("status")
                    elif kind == "status":
                        idle = found["content"]["execution_state"] == "idle"
                    else:
                        outputs.add(kind, found["content"])
                except zmq.Again:
                    continue
                except Exception:
                    # a kernel may send anything: what can't be read is skipped, up to a limit
                    unreadable += 1
                    if unreadable > MAX_UNREADABLE:
                        self.kill()
                        return None
        return content


def _value(content: dict, name: str) -> str | None:
    """What a kernel's reply, which may be anything, has for one of the expressions that were asked for."""
    with contextlib.suppress(KeyError, TypeError, AttributeError):
        value = content["user_expressions"][name]["data"][REPLY_MIME]
        return value if isinstance(value, str) else None
    return None
