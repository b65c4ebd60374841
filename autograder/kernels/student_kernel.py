"""A student's kernel: the one process that runs what a submission says, and is trusted in nothing."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import zmq
from nbformat import NotebookNode

from autograder import embedding
from autograder.instructor_settings import Settings
from autograder.kernels import forkserver, jupyter_adapter
from autograder.kernels.kernel_memory import KernelMemory
from autograder.kernels.outputs import MAX_PICTURES, Outputs
from autograder.kernels.processor_time import LOOK_SECONDS, ProcessorTime, available
from autograder.kernels.protocol import CONNECTION, ENDED, ERROR, WORK
from autograder.package import PACKAGE

# A larger message of a kernel is skipped; after so many that can't be read, the kernel is ended.
MAX_MESSAGE, MAX_UNREADABLE = 40_000_000, 1_000
# seconds that an interrupted kernel has to come back
GRACE = 5.0
START_SECONDS = 120
FOLDER = "grade-"
REPLY_MIME = "application/x-autotest+json"

# Executed first in every kernel. A kernel that was forked from the fork server has the runtime already.
BEGIN = """
{loader}
def _begin(packed):
    import sys
    serving = sys.modules.get("autograder.runtime.evaluate")
    if serving is None:
        load_checks(packed)
        serving = sys.modules["{package}.evaluate"]
    sys.path[:] = [path for path in sys.path if path] + ["."]

    class Reply:
        def __init__(self, text):
            self.text = text

        def __repr__(self):
            return "a reply to the grader"

        def _repr_mimebundle_(self, **options):
            return {{"{mime}": self.text}}

    def reply(request):
        return Reply(serving.serve(request, sys.modules["IPython"].get_ipython().user_ns))

    sys.modules["_autotest_reply"] = reply


_begin("{packed}")
del _begin, load_checks
"""


def _begin_code() -> str:
    """BEGIN with the runtime in it."""
    packed = embedding.packed_sources()
    package = embedding.PACKAGE
    return BEGIN.format(loader=embedding.LOADER, package=package, packed=packed, mime=REPLY_MIME)


class KernelStartError(RuntimeError):
    """A kernel that did not come so far as to run a student's code; the message says why."""


@dataclass
class Reply:
    """What came of one request: status is "ok", "error", "timeout" or "dead".

    processor_seconds: what the kernel and all processes that it has started have used meanwhile, as
    Linux counts it; None elsewhere.
    """

    status: str
    outputs: list[NotebookNode] = field(default_factory=list)
    value: str | None = None
    processor_seconds: float | None = None


class StudentKernel:
    """A kernel in a private folder, with a private environment. A context manager.

    settings: its interpreter, its limits, and whether it runs in a sandbox; companions: files to lay
    into its working directory, by name. Raises KernelStartError.
    """

    def __init__(self, settings: Settings, companions: Mapping[str, bytes] | None = None) -> None:
        if settings.user and not forkserver.available():
            raise KernelStartError("this system can't start kernels as another user")
        self._python, self._limits, self._user = settings.python, settings.limits, settings.user
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        self.dead = False
        self._clock: ProcessorTime | None = None
        self._memory: KernelMemory | None = None
        self._pictures = MAX_PICTURES
        for name in (WORK, CONNECTION, "home", "tmp"):
            (self._folder / name).mkdir()
        for name, content in (companions or {}).items():
            (self._folder / WORK / name).write_bytes(content)
        hidden = (PACKAGE, settings.course) if settings.course else (PACKAGE,)
        self._manager = jupyter_adapter.kernel_manager(
            self._folder, self._python, self._limits, hidden, self._user
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
            **name,
        }

    @property
    def limit(self) -> str:
        """The limit that has ended it, "memory" or "time", if it was one."""
        path = self._folder / ENDED
        return path.read_text() if path.exists() else ""

    def __enter__(self) -> StudentKernel:
        try:
            self._manager.start_kernel(
                cwd=str(self._folder / WORK),
                env=self._environment(),
                extra_arguments=["--HistoryManager.hist_file=:memory:"],
            )
            self._wait_for_sockets()
            self._client = jupyter_adapter.open_client(self._manager)
            self._poller = zmq.Poller()
            for channel in (self._client.shell_channel, self._client.iopub_channel):
                self._poller.register(channel.socket, zmq.POLLIN)
            self._wait_for_welcome()
            begun = self.run(_begin_code(), START_SECONDS)
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
        if self._manager.has_kernel:
            jupyter_adapter.end_kernel(self._manager)
        jupyter_adapter.close(self._manager)
        if forkserver.available() and not self._limits.sandbox:
            # a sandbox ends with all its processes
            forkserver.clean_up(self._python, self._user)
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
        """Execute code as a cell, for at most timeout seconds."""
        return self._converse(timeout, code=code, store_history=True)

    def ask(self, request: dict, timeout: float, timed: bool = False) -> Reply:
        """Evaluate an autotest request (see `runtime.evaluate.serve`); the answer, if any, is in value.

        timed: measure the processor time, too.
        """
        text = json.dumps(request)
        expression = f"__import__('sys').modules['_autotest_reply']({text!r})"
        asked = {"code": "", "store_history": False, "user_expressions": {"value": expression}}
        if not timed or not available():
            return self._converse(timeout, **asked)
        self._clock = ProcessorTime(jupyter_adapter.process_of(self._manager))
        begun = self._clock.seconds()
        reply = self._converse(timeout, **asked)
        used, self._clock = self._clock.seconds() - begun, None
        return replace(reply, processor_seconds=used)

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
            timeout, code="", store_history=False, user_expressions={"value": statement}
        )

    def _converse(self, timeout: float, **request: Any) -> Reply:
        if self.dead:
            return Reply("dead")
        message = self._client.execute(**request, allow_stdin=False, stop_on_error=False)
        outputs = Outputs(self._limits.output_characters, self._pictures, str(self._folder))
        content = self._wait(message, outputs, timeout)
        if content is None and not self.dead:
            self._manager.interrupt_kernel()
            content = self._wait(message, outputs, GRACE)
            if content is None:
                self.kill()
            return Reply("timeout", outputs.kept)
        self._pictures = outputs.pictures
        if content is None:
            return Reply("dead", outputs.kept)
        value = None
        with contextlib.suppress(KeyError, TypeError, AttributeError):
            value = content["user_expressions"]["value"]["data"][REPLY_MIME]
        status = "ok" if content.get("status") == "ok" else "error"
        return Reply(status, outputs.kept, value if isinstance(value, str) else None)

    def kill(self) -> None:
        """End the kernel; whatever is asked of it afterwards is answered by "dead"."""
        self.dead = True
        jupyter_adapter.end_kernel(self._manager)

    def _wait(self, message: str, outputs: Outputs, timeout: float) -> dict | None:
        """The reply's content, once the kernel is idle again; None on timeout or death."""
        deadline = time.monotonic() + timeout
        content, idle, unreadable, looked = None, False, 0, time.monotonic()
        while content is None or not idle:
            now = time.monotonic()
            if self._clock and now > looked + LOOK_SECONDS:
                self._clock.seconds()
                looked = now
            if content is not None:
                deadline = min(deadline, now + 1.0)
            if now >= deadline:
                break
            ready = dict(self._poller.poll(int(min(0.2, deadline - now) * 1000)))
            if not ready and not self._manager.is_alive():
                self.dead = True
                break
            for channel in (self._client.iopub_channel, self._client.shell_channel):
                if channel.socket not in ready:
                    continue
                try:
                    parts = channel.socket.recv_multipart(zmq.NOBLOCK)
                    if sum(map(len, parts)) > MAX_MESSAGE:
                        outputs.cut()
                        if channel is self._client.shell_channel:
                            content = {"status": "error"}
                        continue
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
