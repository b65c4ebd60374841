"""*Your first change in ten minutes*, followed as it is written."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.commands import Block, fenced_blocks
from tests.support.copies import repository
from tests.support.course import COURSE

CONTRIBUTING = COURSE.root / "CONTRIBUTING.md"
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


def blocks() -> list[Block]:
    """The fenced blocks of the section."""
    lines = CONTRIBUTING.read_text(encoding="utf-8").split("\n")
    start = lines.index("## Your first change in ten minutes") + 1
    end = next(n for n, line in enumerate(lines[start:], start) if line.startswith("## ")) + 1
    return [block for block in fenced_blocks(CONTRIBUTING) if start < block.line < end]


def shell(root: Path, text: str) -> subprocess.CompletedProcess:
    """Run a block's commands, up to the first that fails, with this environment's programs."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": paths, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    command = ["bash", "-e", "-c", text]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def test_the_first_change_goes_from_red_to_green(tmp_path):
    root = repository(tmp_path, few_mistakes=True)
    (root / ".gitignore").write_text("course/\n__pycache__/\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*GIT, *words], cwd=root, check=True)
    test, pytest_run, change, handing_in, throwing_away = blocks()
    assert [test.language, pytest_run.language, change.language] == ["python", "bash", "diff"]
    (root / "tests").mkdir()
    (root / "tests" / "test_first_change.py").write_text(test.text + "\n", encoding="utf-8")
    red = shell(root, pytest_run.text)
    assert red.returncode == 1, red.stdout
    assert "its name should be ch1_x.ipynb" in red.stdout and "1 failed" in red.stdout

    words = root / "autograder" / "grade" / "words.py"
    before = words.read_text(encoding="utf-8")
    old, new = (
        "".join(f"{line[1:]}\n" for line in change.text.split("\n") if line.startswith(mark))
        for mark in "-+"
    )
    assert before.count(old) == 1
    words.write_text(before.replace(old, new), encoding="utf-8")
    green = shell(root, pytest_run.text)
    assert green.returncode == 0 and "1 passed" in green.stdout, green.stdout
    read = shell(root, handing_in.text)
    assert read.returncode == 0, read.stdout + read.stderr
    assert re.search("my homework.ipynb.*graded all the same", read.stdout)

    done = shell(root, throwing_away.text)
    assert done.returncode == 0, done.stderr
    changed = [*GIT, "status", "--porcelain"]
    assert not subprocess.run(changed, cwd=root, check=True, capture_output=True).stdout
