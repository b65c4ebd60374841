"""Everything of jupyter_client 8.10 and ipykernel 7.4 that is used beyond their documented interfaces.

- `KernelManager.provisioner` is set before the kernel is started, and then used as it is; the documented
  way, an entry point of an installed package, isn't open to a course's folder.
- `LocalProvisioner.launch_kernel`, overridden, with `process`, `pid`, `pgid`, `cwd` and
  `connection_info`, by which its other methods watch and signal the process.
- With the transport "ipc", sockets are files called IP-PORT, with the ports of the connection file.
- A client's sockets are found by its own `ip`, which may be another than the manager's: that of the relays.
- The kernel's first message on the iopub channel has the type "iopub_welcome".
- `IPKernelApp.instance`, `initialize` and `start` work in a process that was forked after ipykernel was
  imported, and all five sockets are bound when `initialize` returns (`forkserver_main` calls them). Once it
  was stopped, `io_loop` can be started again.
- IPython's `quit` and `exit` call the shell's `ask_exit`; an observer of `exit_now` stops the loop
  (`in_kernel` replaces both).

tests/autograder/test_adapters.py fails when one of these moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from subprocess import Popen
from typing import Any, cast

import zmq
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import LocalProvisioner
from jupyter_client.session import Session

from autograder.instructor_settings import Limits
from autograder.kernels import forkserver
from autograder.kernels.protocol import CONNECTION, KernelRequest
from autograder.kernels.relay import MAX_MESSAGE, Relay
from autograder.package import PACKAGE

NAME = "student"
SOCKETS = ("shell", "iopub", "stdin", "control", "hb")
WELCOME = "iopub_welcome"
# What may wait unread in this process's memory: for each socket so many messages, none of which is larger than
# what the relay passes on.
MAX_WAITING, MAX_PART = 2, MAX_MESSAGE
# Lists, objects and members of a part of a message, and marks around texts: an empty object takes 20 times as much
# memory as its text.
MAX_MEMBERS = 200_000


class OneKernelSpec(KernelSpecManager):
    """Knows one kernel, whatever it is called, and nothing of those that are installed."""

    def __init__(self, spec: KernelSpec) -> None:
        super().__init__()
        self._spec = spec

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The one kernel."""
        return self._spec


class ForkServerProvisioner(LocalProvisioner):
    """jupyter_client's local provisioner, with a request to a fork server in place of a start."""

    def __init__(
        self,
        python: str,
        limits: Limits,
        hidden: tuple[Path, ...],
        user: int,
        groups: tuple[Path, ...],
        **traits: Any,
    ) -> None:
        super().__init__(**traits)
        self._python, self._limits, self._hidden = python, limits, hidden
        self._user, self._groups = user, groups

    async def launch_kernel(self, cmd: list[str], **options: Any) -> KernelConnectionInfo:
        """Fork a kernel with the connection file that cmd names."""
        arguments = tuple(cmd[cmd.index("ipykernel_launcher") + 1 :])
        folder = Path(options["cwd"]).parent
        request = KernelRequest(
            arguments,
            folder,
            options["env"],
            self._hidden,
            self._limits,
            self._user,
            self._groups,
        )
        kernel = forkserver.start_kernel(self._python, request)
        # it has what the other methods of the local provisioner use of a Popen
        self.process = cast(Popen, kernel)
        self.pid = self.pgid = kernel.pid
        self.cwd = options["cwd"]
        return self.connection_info

    def end(self) -> None:
        """End the kernel; returns when its process has ended."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def kernel_manager(
    folder: Path,
    python: str,
    limits: Limits,
    hidden: tuple[Path, ...] = (PACKAGE,),
    user: int = 0,
    groups: tuple[Path, ...] = (),
) -> KernelManager:
    """A manager for one kernel, which is not started yet.

    folder: the kernel's private folder, where its connection file and sockets go; hidden: folders that a
    sandbox shows empty; user and groups: as for `KernelRequest`. End it with `close`.
    """
    argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = KernelSpec(argv=argv, display_name="Python 3", language="python")
    context = zmq.Context()
    # defaults for the context's sockets
    context.setsockopt(zmq.MAXMSGSIZE, MAX_PART)
    context.setsockopt(zmq.RCVHWM, MAX_WAITING)
    manager = KernelManager(
        kernel_name=NAME,
        kernel_spec_manager=OneKernelSpec(spec),
        context=context,
        transport="ipc",
        ip=str(folder / CONNECTION / "k"),
        connection_file=str(folder / CONNECTION / "connection.json"),
    )
    if forkserver.available():
        manager.provisioner = ForkServerProvisioner(
            python, limits, hidden, user, groups, kernel_id=NAME, kernel_spec=spec, parent=manager
        )
    return manager


def process_of(manager: KernelManager) -> int:
    """The process id of a started kernel: in a sandbox, of the process that watches it."""
    assert isinstance(manager.provisioner, LocalProvisioner)
    assert manager.provisioner.pid is not None
    return manager.provisioner.pid


CHANNELS = ("shell", "iopub")


def open_client(
    manager: KernelManager, folder: Path
) -> tuple[BlockingKernelClient, dict[str, Relay]]:
    """A client of a listening kernel, with the channels for requests (shell) and outputs (iopub).

    folder: for the sockets of the relays between them, which are returned by channel.
    """
    info: Mapping[str, Any] = manager.get_connection_info()
    ports = {channel: info[f"{channel}_port"] for channel in CHANNELS}
    relays = {
        channel: Relay(folder / f"k-{port}", Path(f"{info['ip']}-{port}"))
        for channel, port in ports.items()
    }
    client = manager.client(context=manager.context, ip=str(folder / "k"))
    client.start_channels(stdin=False, hb=False, control=False)
    return client, relays


def is_listening(manager: KernelManager) -> bool:
    """Whether a started kernel has bound all its sockets."""
    info: Mapping[str, Any] = manager.get_connection_info()
    return all(Path(f"{info['ip']}-{info[f'{name}_port']}").exists() for name in SOCKETS)


def read_message(session: Session, parts: list[bytes]) -> dict:
    """A message from a kernel; anything may be raised for what a student's code has sent."""
    _, own = session.feed_identities(parts)
    # behind the content may be bytes of any kind, which are left as they are
    if not all(map(has_few_members, cast(list[bytes], own)[:5])):
        raise ValueError("a message of very many members")
    return session.deserialize(own)


def has_few_members(part: bytes) -> bool:
    """Whether a part of a message is JSON that takes little more memory than its text."""
    if sum(map(part.count, (b"[", b"{", b",", b'"'))) <= MAX_MEMBERS:
        return True
    # what stands in texts is no member
    without_escapes = part.replace(rb"\\", b"").replace(rb"\"", b"")
    if without_escapes.count(b'"') > MAX_MEMBERS:
        return False
    outside = b"".join(without_escapes.split(b'"')[::2])
    return sum(map(outside.count, (b"[", b"{", b","))) <= MAX_MEMBERS


def end_kernel(manager: KernelManager) -> None:
    """End a kernel at once; returns when its process has ended."""
    if isinstance(manager.provisioner, ForkServerProvisioner):
        # else jupyter_client looks only ten times a second whether it has ended
        manager.provisioner.end()
    manager.shutdown_kernel(now=True)


def close(manager: KernelManager) -> None:
    """Free what a manager holds, once its clients are stopped and its kernel has ended."""
    manager.cleanup_resources()
    manager.context.destroy(linger=0)
