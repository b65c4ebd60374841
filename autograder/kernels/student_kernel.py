"""A student's kernel: the one process that runs what a submission says, and is trusted in nothing."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import nbformat
import zmq
from jupyter_client.manager import KernelManager
from nbformat import NotebookNode

from autograder import embedding
from autograder.display.cleaning import clean_html
from autograder.kernels import forkserver, sandbox
from autograder.settings import Settings
from autograder.text import valid_text

MAX_OUTPUT = 20_000
MAX_PICTURE = 2_000_000
MAX_PICTURES = 20_000_000
MAX_OUTPUTS = 50
MAX_MESSAGE = 40_000_000
MAX_NONSENSE = 1_000
GRACE = 5.0
START_SECONDS = 120
# shell, iopub, stdin, control and heartbeat
SOCKETS = 5
FOLDER = "grade-"
REPLY_MIME = "application/x-autotest+json"

# Executed first in every kernel. A kernel that was forked from the fork server has the runtime already.
BEGIN = """
{loader}
def _begin(packed):
    import sys
    import torch
    torch.set_num_threads(1)
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
    """What came of one request: status is "ok", "error", "timeout" or "dead"."""

    status: str
    outputs: list[NotebookNode] = field(default_factory=list)
    value: str | None = None


class Outputs:
    """Collects a kernel's outputs: only kinds that can be shown safely, only up to a limit.

    pictures: how many characters of pictures may still be kept.
    """

    def __init__(self, pictures: int = MAX_PICTURES) -> None:
        self.kept: list[NotebookNode] = []
        self.pictures = pictures
        self._room = MAX_OUTPUT
        self._cut = False

    def _text(self, text: Any) -> str:
        text = text if isinstance(text, str) else ""
        piece, self._room = text[: self._room], max(0, self._room - len(text))
        return valid_text(piece)

    def cut(self) -> None:
        """Say, once, that something is missing."""
        if not self._cut:
            self._cut = True
            text = "... (the rest of the output is not shown)"
            self.kept.append(nbformat.v4.new_output("stream", name="stdout", text=text))

    def add(self, kind: Any, content: Any) -> None:
        """Take one iopub message; anything malformed raises."""
        if self._room <= 0 or len(self.kept) >= MAX_OUTPUTS:
            self.cut()
            return
        if kind == "stream":
            name = "stderr" if content["name"] == "stderr" else "stdout"
            text = self._text(content["text"])
            last = self.kept[-1] if self.kept else {}
            if last.get("output_type") == "stream" and last.get("name") == name:
                last["text"] += text
            else:
                self.kept.append(nbformat.v4.new_output("stream", name=name, text=text))
        elif kind == "error":
            frames = [self._text(frame) for frame in list(content["traceback"])[:50]]
            ename, evalue = self._text(content["ename"])[:200], self._text(content["evalue"])
            self.kept.append(
                nbformat.v4.new_output("error", ename=ename, evalue=evalue, traceback=frames)
            )
        elif kind in ("display_data", "execute_result"):
            data = self._displayed(content["data"])
            if data:
                self.kept.append(nbformat.v4.new_output("display_data", data=data))

    def _displayed(self, data: dict) -> dict[str, str]:
        shown = {}
        for kind in ("image/png", "image/jpeg"):
            size = len(data[kind]) if isinstance(data.get(kind), str) else 0
            if size > min(MAX_PICTURE, self.pictures):
                self.cut()
            elif size:
                self.pictures -= size
                with contextlib.suppress(binascii.Error, ValueError):
                    picture = base64.b64decode(data[kind], validate=False)
                    shown[kind] = base64.b64encode(picture).decode()
        if isinstance(data.get("text/html"), str):
            shown["text/html"] = clean_html(self._text(data["text/html"]))
        if isinstance(data.get("text/plain"), str):
            shown["text/plain"] = self._text(data["text/plain"])
        return shown


class StudentKernel:
    """A kernel in a private folder, with a private environment. A context manager.

    settings: its interpreter, its limits, and whether it runs in a sandbox; companions: files to lay
    into its working directory, by name.
    """

    def __init__(self, settings: Settings, companions: Mapping[str, bytes] | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        self.dead = False
        self._pictures = MAX_PICTURES
        work = self._folder / "work"
        for name in ("work", "home", "tmp", "kernel"):
            (self._folder / name).mkdir()
        for name, content in (companions or {}).items():
            (work / name).write_bytes(content)
        self._manager = KernelManager(
            transport="ipc",
            ip=str(self._folder / "kernel" / "k"),
            connection_file=str(self._folder / "kernel" / "connection.json"),
        )
        self._sandboxed = settings.limits.sandbox
        seconds = settings.limits.notebook_seconds if self._sandboxed else None
        self._manager._kernel_spec = forkserver.kernel_spec(seconds)
        self._work = work

    def _environment(self) -> dict[str, str]:
        home = str(self._folder / "home")
        return forkserver.kept_environment() | {
            "HOME": home,
            "IPYTHONDIR": home,
            "JUPYTER_CONFIG_DIR": home,
            "MPLCONFIGDIR": home,
            "TMPDIR": str(self._folder / "tmp"),
            "PYTHONSAFEPATH": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
        }

    @property
    def limit(self) -> str:
        """The limit that has ended it, "memory" or "time", if it was one."""
        path = self._folder / sandbox.ENDED
        return path.read_text() if path.exists() else ""

    def __enter__(self) -> StudentKernel:
        try:
            self._manager.start_kernel(
                cwd=str(self._work),
                env=self._environment(),
                extra_arguments=["--HistoryManager.hist_file=:memory:"],
            )
            self._wait_for_sockets()
            self._client = self._manager.client()
            self._client.start_channels(stdin=False, hb=False)
            self._poller = zmq.Poller()
            for channel in (self._client.shell_channel, self._client.iopub_channel):
                self._poller.register(channel.socket, zmq.POLLIN)
            self._wait_for_welcome()
            begun = self.run(_begin_code(), START_SECONDS)
            if begun.status != "ok":
                self._did_not_start(str(begun))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(AttributeError):
            self._client.stop_channels()
        if self._manager.has_kernel:
            self._end()
        self._manager.cleanup_resources()
        if forkserver.available() and not self._sandboxed:
            forkserver.sweep()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_for_sockets(self) -> None:
        """Wait until the kernel listens: who connects too early waits longer."""
        deadline = time.monotonic() + START_SECONDS
        while len(list((self._folder / sandbox.KERNEL).glob("k-*"))) < SOCKETS:
            if time.monotonic() > deadline or not self._manager.is_alive():
                self._did_not_start("it does not listen")
            time.sleep(0.002)

    def _wait_for_welcome(self) -> None:
        """Wait until the kernel's outputs are on their way to us."""
        socket = self._client.iopub_channel.socket
        while socket.poll(START_SECONDS * 1000):
            _, parts = self._client.session.feed_identities(socket.recv_multipart())
            if self._client.session.deserialize(parts)["msg_type"] == "iopub_welcome":
                return
        self._did_not_start("it does not answer")

    def _did_not_start(self, why: str) -> NoReturn:
        error = self._folder / sandbox.KERNEL / forkserver.ERROR
        raise KernelStartError(error.read_text() if error.exists() else why)

    def run(self, code: str, timeout: float) -> Reply:
        """Execute code as a cell, for at most timeout seconds."""
        return self._converse(timeout, code=code, store_history=True)

    def ask(self, request: dict, timeout: float) -> Reply:
        """Evaluate an autotest request (see `runtime.evaluate.serve`); the answer, if any, is in value."""
        text = json.dumps(request)
        expression = f"__import__('sys').modules['_autotest_reply']({text!r})"
        return self._converse(
            timeout, code="", store_history=False, user_expressions={"value": expression}
        )

    def _converse(self, timeout: float, **request: Any) -> Reply:
        if self.dead:
            return Reply("dead")
        message = self._client.execute(**request, allow_stdin=False, stop_on_error=False)
        outputs = Outputs(self._pictures)
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
        self._end()

    def _end(self) -> None:
        if isinstance(self._manager.provisioner, forkserver.WarmProvisioner):
            # else jupyter_client looks only ten times a second whether it has ended
            self._manager.provisioner.process.kill()
            self._manager.provisioner.process.wait()
        self._manager.shutdown_kernel(now=True)

    def _wait(self, message: str, outputs: Outputs, timeout: float) -> dict | None:
        """The reply's content, once the kernel is idle again; None on timeout or death."""
        deadline = time.monotonic() + timeout
        content, idle, nonsense = None, False, 0
        while content is None or not idle:
            now = time.monotonic()
            if content is not None:
                deadline = min(deadline, now + 1.0)
            if now >= deadline:
                break
            ready = dict(self._poller.poll(min(0.2, deadline - now) * 1000))
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
                    _, parts = self._client.session.feed_identities(parts)
                    found = self._client.session.deserialize(parts)
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
                    # a kernel may send anything: what can't be read is skipped, but not for ever
                    nonsense += 1
                    if nonsense > MAX_NONSENSE:
                        self.kill()
                        return None
        return content
