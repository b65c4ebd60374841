"""Results of long experiments are kept until code that they depend on changes."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.course import COURSE

MODULE = """
def helper():
    return 2


def unused():
    return 3


def experiment(x):
    print("computed")
    return helper() * x
"""
ASK = """
import sys
from pathlib import Path
import experiments
from kept import kept
if edit := sys.argv[1:]:
    path = Path(experiments.__file__)
    path.write_text(path.read_text().replace(*edit))
print(kept(experiments.experiment, 5))
"""


@pytest.fixture
def ask(tmp_path):
    """Let a process ask for the result of a module's function, and edit the module after its import."""
    (tmp_path / "book").mkdir()
    shutil.copy(COURSE.root / "book" / "kept.py", tmp_path / "book")
    (tmp_path / "book" / "experiments.py").write_text(MODULE)
    paths = [str(tmp_path / "book"), str(COURSE.root)]

    def ask(*edit):
        done = subprocess.run(
            [sys.executable, "-c", ASK, *edit],
            # compiled modules are told apart by seconds and sizes, and tests edit faster than people
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return ask


def test_an_experiment_of_a_module_is_computed_again_when_what_it_uses_changes(ask, tmp_path):
    path = tmp_path / "book" / "experiments.py"
    first = ["computed", "10"]
    assert ask() == first and ask() == ["10"]
    path.write_text(MODULE.replace("return 3", "return 4"))
    assert ask() == ["10"]
    path.write_text(MODULE.replace("return 2", "return 3"))
    assert ask() == ["computed", "15"]


def test_pages_that_ask_at_once_compute_a_result_once(ask, tmp_path):
    path = tmp_path / "book" / "experiments.py"
    path.write_text(
        "import time\n" + MODULE.replace("return helper()", "time.sleep(1)\n    return helper()")
    )
    with ThreadPoolExecutor() as pool:
        told = [asked.result() for asked in [pool.submit(ask) for _ in range(2)]]
    assert sorted(told) == [["10"], ["computed", "10"]]


def test_a_result_of_code_that_was_edited_meanwhile_is_not_kept(ask):
    assert ask("return 2", "return 7") == ["computed", "10"]
    assert ask() == ["computed", "35"] and ask() == ["35"]
