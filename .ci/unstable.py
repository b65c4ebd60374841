"""Run what has just failed by itself, three times; for CI, where a machine may be busy for a moment.

A test that passes each time is unstable: it is named, and has to be mended, but stops nothing. Whatever is
wrong with the code fails again. Exits with 1 if a test does, or if tests of more than two files have failed
(where a fixture fails, all tests that share it do).
"""

import json
import subprocess
import sys
from pathlib import Path

FAILED = Path("_build/pytest/v/cache/lastfailed")
MOST, TIMES = 2, 3


def without_group(name: str) -> str:
    """The name of a test without its group, which pytest-xdist writes behind it."""
    head, bracket, tail = name.rpartition("]")
    return head + bracket + tail.partition("@")[0]


def main() -> int:
    """Return the exit status."""
    failed = [without_group(name) for name in json.loads(FAILED.read_text(encoding="utf-8"))]
    if not 0 < len({name.partition("::")[0] for name in failed}) <= MOST:
        return 1
    for _ in range(TIMES):
        if subprocess.run([sys.executable, "-m", "pytest", *failed], check=False).returncode:
            return 1
    print(f"Unstable, failed once and then passed {TIMES} times:", *failed, sep="\n  ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
