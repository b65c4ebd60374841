"""Copies of this course to change and to grade in, and commands run there as users run them."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from autograder.__main__ import main
from tests.support.course import COURSE
from tests.support.few_mistakes import leave_out_mistakes

COPIED = ("autograder", "audit_cases", "solutions", "translation", "exercises", "book")
# short, because some submissions use it up
CELL_SECONDS = 2


def repository(folder: Path, few_mistakes: bool = False) -> Path:
    """What grading needs of this repository, copied to a folder.

    few_mistakes: whether the catalogues are a sample, with which an answer key takes little time. An exercise
    is then one of the copy, `Course(root).exercise(name)`, and a build evaluates it anew.
    """
    root = folder / "repository"
    root.mkdir()
    for name in COPIED:
        left_out = shutil.ignore_patterns("__pycache__", "_vendor", ".ipynb_checkpoints")
        shutil.copytree(COURSE.root / name, root / name, ignore=left_out)
    for pattern in ("*.py", "*.yml", "*.txt"):
        for path in COURSE.root.glob(pattern):
            shutil.copy(path, root)
    if few_mistakes:
        leave_out_mistakes(root)
    return root


def configure(root: Path, *lines: str) -> None:
    """Add lines to a copy's nbgrader_config.py."""
    path = root / "nbgrader_config.py"
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join([text, *lines, ""]), encoding="utf-8")


def with_short_limits(root: Path, cell_seconds: int = CELL_SECONDS) -> Path:
    """Let the cells of a copy's submissions have only a few seconds."""
    limits = dict.fromkeys(("cell_seconds", "grade_cell_seconds"), cell_seconds)
    limits["notebook_seconds"] = 120
    configure(root, *(f"c.Grader.{name} = {seconds}" for name, seconds in limits.items()))
    return root


def run(root: Path, module: str, *words: str) -> subprocess.CompletedProcess:
    """Run a command in a copy, as a user does: in a process of its own, from the copy's folder."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", module, *map(str, words)]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    status: int
    stdout: str
    stderr: str


def command(root: Path, *words: object) -> Ended:
    """Run a command of `python -m autograder` in this process, from a copy's folder."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(root),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main([str(word) for word in words])
        except SystemExit as end:
            status = end.code
    return Ended(status, out.getvalue(), err.getvalue())
