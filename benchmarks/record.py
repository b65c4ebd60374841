"""How every benchmark writes its result: what was measured, and on what."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

PACKAGES = ("nbgrader", "torch", "numpy", "ipykernel")


def save(script: str, measured: dict) -> None:
    """Print a result and write it beside its script, with device, versions, date and commit."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    result = measured | {
        "device": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "command": "python -m " + ".".join(Path(sys.argv[0]).with_suffix("").parts[-2:]),
    }
    text = json.dumps(result, indent=1)
    Path(script).with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    print(text)
