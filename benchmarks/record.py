"""How a benchmark writes a number that pages show: what was measured, and on what."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import torch

MEASURED = Path(__file__).parents[1] / "book" / "measured"
PACKAGES = ("nbgrader", "torch", "numpy", "ipykernel", "sentencepiece", "sacrebleu")


def provenance() -> dict[str, str]:
    """When something was measured, and with which commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
    }


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """The versions of packages, of those that are installed: not every benchmark needs them all."""
    found = {}
    for name in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def about() -> dict:
    """What something was measured on, when, and with which commit and command."""
    device = f"{platform.machine()}, {os.cpu_count()} cores"
    if torch.cuda.is_available():
        device += f", {torch.cuda.get_device_name()}"
    module = sys.modules["__main__"].__spec__  # None of a script that is named by its path
    program = module.name.removesuffix(".__main__") if module else Path(sys.argv[0]).stem
    return {
        "device": device,
        "python": platform.python_version(),
        "versions": versions(),
        **provenance(),
        "command": shlex.join(["python", "-m", program, *sys.argv[1:]]),
    }


def save(script: str, measured: dict) -> None:
    """Print a script's result and write it for pages, with device, versions, date and commit."""
    text = json.dumps(measured | about(), indent=1)
    path = MEASURED / f"{Path(script).stem}.json"
    path.write_text(text + "\n", encoding="utf-8")
    print(text)
