"""The trainer's command in a process of its own, as a user starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.gpu.bench import Bench


def train(bench: Bench, run: Path, words: list[str], seconds: int | None = None) -> dict:
    """Train, and stop after so many seconds.

    Returns:
        Seconds from the command to its last line, the last lines, and the exit status.
    """
    command = [sys.executable, "-m", "translation", "train", f"--folder={run}", *words]
    command += [f"--device={bench.device}", *bench.size([], ["--threads=1"])]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        told, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate()
    return {
        "seconds": time.perf_counter() - begun,
        "last_lines": told.splitlines()[-8:],
        "status": process.returncode,
    }
