"""python -m tests.faults [WORDS ...]: put each fault into a copy of this project and run its tests.

Only faults are tried whose name, file or tests have one of the words in them. The same tests have to pass
without a fault. Prints which are caught; the exit status is 1 if one isn't.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.faults import TESTS, Fault, faults

ROOT = TESTS.parent
# how pytest ends
PASSED, FAILED = 0, 1


def copy(folder: Path) -> None:
    """Copy what git keeps, as it stands here."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, done.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def run(folder: Path, modules: Iterable[str], quiet: tuple[int, ...] = (PASSED, FAILED)) -> int:
    """Run test modules in a copy until the first failure; how pytest ends, and what it printed but for some."""
    words = ["-m", "pytest", "-qx", "-p", "no:xdist", "--tb", "short"]
    done = subprocess.run(
        [sys.executable, *words, *(f"tests/{name}" for name in modules)],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in quiet:
        print(done.stdout)
    return done.returncode


def is_caught(folder: Path, fault: Fault) -> bool:
    """Whether the tests of a fault fail in a copy that has it; the copy is as before afterwards."""
    path = folder / fault.file
    text = path.read_text(encoding="utf-8")
    path.write_text(fault.applied(text), encoding="utf-8")
    try:
        return run(folder, fault.caught_by) == FAILED
    finally:
        path.write_text(text, encoding="utf-8")


def main(words: list[str]) -> int:
    """Try the faults that are asked for."""
    chosen = [
        fault
        for fault in faults()
        if not words
        or any(word in " ".join([fault.name, fault.file, *fault.caught_by]) for word in words)
    ]
    if not chosen:
        sys.exit(
            f"No fault, file or test of a fault has {' or '.join(map(repr, words))} in its name."
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy(folder)
        modules = dict.fromkeys(module for fault in chosen for module in fault.caught_by)
        if run(folder, modules, quiet=(PASSED,)) != PASSED:
            sys.exit(f"Without a fault one of these fails, too: {', '.join(modules)}")
        missed = []
        for fault in chosen:
            caught = is_caught(folder, fault)
            missed += [] if caught else [fault]
            print(f"{'caught' if caught else 'NOT CAUGHT'}: {fault.name}", flush=True)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} faults are caught.")
    return min(1, len(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
