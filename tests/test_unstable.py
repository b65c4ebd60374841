"""`.ci/unstable.py`, after real runs of pytest as the Makefile starts it: it tells a busy moment from a defect."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.course import COURSE

# It fails until the file beside it has as many characters as it needs runs, and always where that is `never`.
TEST = """
from pathlib import Path

import pytest

RUNS = Path(__file__).with_suffix(".runs")


@pytest.fixture(scope="module")
def running():
    before = RUNS.read_text() if RUNS.exists() else ""
    RUNS.write_text(before + "x")
    assert len(before) >= FAILURES


@pytest.mark.xdist_group("a group")
@pytest.mark.parametrize("case", ["a@b"])
def test_with_a_case(running, case):
    pass


@pytest.mark.xdist_group("a group")
def test_in_the_same_file(running):
    pass
"""


def run_in(folder: Path, *words: object) -> subprocess.CompletedProcess:
    command = [sys.executable, *map(str, words)]
    # other plugins take most of the time
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **plugins},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("files", "failures", "status"),
    [(2, 1, 0), (1, 99, 1), (3, 1, 1)],
    ids=["a busy moment", "a defect", "more than two files"],
)
def test_what_fails_once_is_named_and_what_fails_again_fails(files, failures, status, tmp_path):
    settings = (COURSE.root / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "tests").mkdir()
    for number in range(files):
        text = TEST.replace("FAILURES", str(failures))
        (tmp_path / f"tests/test_{number}.py").write_text(text, encoding="utf-8")
    makefile = (COURSE.root / "Makefile").read_text(encoding="utf-8")
    (words,) = re.findall(
        r"^test:.*\n\t@\$\(PYTHON\) (-m pytest .*)$", makefile, flags=re.MULTILINE
    )
    first = run_in(tmp_path, *words.replace("auto", "2").split())
    assert first.returncode == 1
    assert f"{2 * files} errors" in first.stdout
    shutil.copy(COURSE.root / ".ci" / "unstable.py", tmp_path)
    done = run_in(tmp_path, "unstable.py")
    assert done.returncode == status, done.stdout + done.stderr
    assert not done.stderr
    if status == 0:
        named = [line.strip() for line in done.stdout.splitlines() if line.startswith("  tests/")]
        assert sorted(named) == sorted(
            f"tests/test_{number}.py::{name}"
            for number in range(files)
            for name in ("test_with_a_case[a@b]", "test_in_the_same_file")
        )
