"""Commands of this project's programs that use PyTorch, each in a fork of one process that has imported it.

An interpreter of its own would take seconds for each: the trainer's optimizers import the compiler, too.
A fork finds the project's modules in the folder in which the process was started, as a command does.
"""

import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path


class ForkedCommands:
    """Runs commands in a folder, until it is closed. environment: that of the commands."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, module: str, words: Sequence[str]) -> tuple[int, str]:
        """Run `python -m module words`. Returns its exit status, negative for a signal, and its output."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps([module, *words]), file=self._process.stdin, flush=True)
        status, output = json.loads(self._process.stdout.readline())
        return status, output

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _run(module: str, words: Sequence[str]) -> int:
    """Run a module as `python -m` does; its exit status."""
    sys.argv = [module, *words]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _fork(module: str, words: Sequence[str]) -> tuple[int, str]:
    """Run a module in a fork of this process; its exit status and its output."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if not child:
            with Path(os.devnull).open() as nothing:
                os.dup2(nothing.fileno(), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            status = _run(module, words)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode(errors="replace")


def main() -> None:
    """Run the commands of the input, a line of JSON each; write a line with status and output of each."""
    # in place of this file's folder
    sys.path[0] = str(Path.cwd())
    import torch._dynamo  # noqa: F401

    for line in sys.stdin:
        module, *words = json.loads(line)
        print(json.dumps(_fork(module, words)), flush=True)


if __name__ == "__main__":
    main()
