"""Kernels for the book's pages, forked from one process that has imported what most pages import.

A kernel that starts in the ordinary way takes two to four seconds of imports, and there are as many as
pages. In: the arguments of `ipykernel_launcher`. Out: managers for nbclient.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from multiprocessing.process import BaseProcess
from pathlib import Path
from subprocess import Popen
from typing import Any, Final, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

KERNEL = "python3"
FORKS: Final = "forkserver"
# None of them computes or starts a thread when it is imported. pyplot asks the kernel how to show figures.
PRELOADED = [
    "ipykernel.kernelapp",
    "IPython.core.interactiveshell",
    "matplotlib.figure",
    "matplotlib.font_manager",
    "torch",
    # which torch would import for a process's first optimizer, in a second
    "torch._dynamo",
]


def kernel_manager() -> AsyncKernelManager | None:
    """A manager for one forked kernel, not started yet; None where the system has no fork servers.

    Its sockets are files of its own: a port that is free when it is chosen may be another program's when
    the kernel listens, and whatever comes to it then stands among the page's outputs.
    """
    if FORKS not in multiprocessing.get_all_start_methods():
        return None
    folder = Path(tempfile.mkdtemp(prefix="page"))
    manager = AsyncKernelManager(
        kernel_name=KERNEL,
        transport="ipc",
        ip=str(folder / "k"),
        connection_file=str(folder / "connection.json"),
    )
    spec = KernelSpecManager().get_kernel_spec(KERNEL)
    manager.provisioner = _ForkProvisioner(kernel_id=KERNEL, kernel_spec=spec, parent=manager)
    return manager


async def end_kernel(manager: AsyncKernelManager) -> None:
    """End a manager's kernel if it hasn't ended, and remove its files; nbclient ends only kernels of its own."""
    if await manager.is_alive():
        await manager.shutdown_kernel(now=True)
    shutil.rmtree(Path(manager.connection_file).parent, ignore_errors=True)


class _ForkProvisioner(LocalProvisioner):
    """jupyter_client's local provisioner, with a fork in place of a start."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> KernelConnectionInfo:
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        context = multiprocessing.get_context(FORKS)
        context.set_forkserver_preload(PRELOADED)
        process = context.Process(
            target=_become_kernel, args=(arguments, options.get("cwd"), dict(options["env"]))
        )
        process.start()
        # it has what the other methods of the local provisioner use of a Popen
        self.process = cast(Popen, _KernelProcess(process))
        self.pid = self.pgid = process.pid
        self.cwd = options.get("cwd")
        return self.connection_info


class _KernelProcess:
    """A process of multiprocessing with the methods of a Popen."""

    stdin = stdout = stderr = None

    def __init__(self, process: BaseProcess) -> None:
        self._process, self.pid = process, process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        assert self.pid is not None
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _become_kernel(arguments: list[str], folder: str | None, environment: dict[str, str]) -> None:
    """In the forked process: what `python -m ipykernel_launcher` does."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    os.environ.update(environment)
    # it ends with its parent; ipykernel has read the environment when it was imported
    arguments = [*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    if folder:
        os.chdir(folder)
    IPKernelApp.launch_instance(argv=arguments)
