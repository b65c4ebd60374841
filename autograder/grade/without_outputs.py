"""A large notebook without its outputs and what else the grader doesn't use: read in a process with limits.

Run as a program, it reads a notebook from its input and writes what is left of it.
"""

from __future__ import annotations

import json
import subprocess
import sys

from autograder.package import module_command

# of a cell, what the grader reads
READ = ("cell_type", "source", "input", "metadata", "id", "attachments")
# Reading JSON takes several times its size; seconds are of the processor and by the clock.
MEMORY, PROCESSOR_SECONDS, SECONDS = 2_000_000_000, 20, 60


def without_outputs(content: bytes, limit: int) -> bytes:
    """A notebook's cells without their outputs, as JSON; nothing if it can't be read within limits.

    limit: the most bytes that may be left.
    """
    try:
        done = subprocess.run(
            module_command(__name__, str(limit)),
            input=content,
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
    except subprocess.SubprocessError:
        return b""
    return done.stdout


def _main() -> None:
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    notebook = json.loads(sys.stdin.buffer.read())
    sheets = [notebook, *notebook.get("worksheets", [])]
    cells = [
        {name: cell[name] for name in READ if name in cell}
        for sheet in sheets
        for cell in sheet.get("cells", [])
    ]
    text = json.dumps({"cells": cells})
    if len(text) <= int(sys.argv[1]):
        sys.stdout.write(text)


if __name__ == "__main__":
    _main()
