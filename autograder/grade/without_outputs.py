"""A large notebook without outputs, pictures and what else the grader doesn't use, read in a process with limits.

Run as a program, it reads a notebook from its input and writes what is left of it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

from autograder.package import module_command

# a picture in Markdown itself
PASTED = re.compile(r"data:image/\w+;base64,[A-Za-z0-9+/=]*")
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
    limit = int(sys.argv[1])
    text = json.dumps({"cells": cells})
    if len(text) > limit:
        text = json.dumps({"cells": list(map(_without_pictures, cells))})
    if len(text) <= limit:
        sys.stdout.write(text)


def _without_pictures(cell: dict) -> dict:
    """A cell without what was pasted into its text: a remark says which pictures a text lacks."""
    cell = {name: value for name, value in cell.items() if name != "attachments"}
    if cell.get("cell_type") != "code":
        source = cell.get("source", "")
        text = "".join(source) if isinstance(source, list) else source
        cell["source"] = PASTED.sub("attachment:pasted", text)
    return cell


if __name__ == "__main__":
    _main()
