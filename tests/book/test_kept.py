"""Results of long experiments are kept until code that they depend on changes."""

import os
import shutil
import subprocess
import sys
import types
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.course import COURSE

PAGE = """
from functools import cache

from kept import kept

FACTOR = {factor}
TABLE = [lambda x: x * {table}]


class Base:
    def value(self):
        return {base}


def surplus():
    return {surplus}


class Model(Base):
    size = {size}

    def total(self, more=surplus):
        return self.value() * self.size + more()


@cache
def helper(x):
    '''{words}'''
    return [Model().total() * FACTOR + {constant} for _ in range(2)][0] + TABLE[0](x)


def unused():
    return {unused}


def experiment(x):
    runs.append(x)
    return {{"result": (helper(x), {own})}}


result = kept(experiment, {argument}, folder=folder)
"""
GIVEN = {
    "factor": 2, "base": 3, "size": 5, "words": "a", "constant": 7, "unused": 0, "own": 1,
    "argument": 11, "surplus": 0, "table": 1,
}  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the page with some parts changed: its result, and how often it was computed so far."""
    monkeypatch.syspath_prepend(COURSE.root / "book")
    runs = deque()  # no plain data, so no part of the key

    def run_page(**changed):
        # cells of a page belong to the module __main__, which has their texts as In
        page = types.ModuleType("__main__")
        program = PAGE.format(**{**GIVEN, **changed})
        vars(page).update(folder=tmp_path, runs=runs, In=["", "%matplotlib inline", program])
        monkeypatch.setitem(sys.modules, "__main__", page)
        exec(program, vars(page))
        return page.result, len(runs)

    yield run_page
    sys.modules.pop("kept", None)


def test_a_result_is_computed_once_for_each_code_and_argument(run):
    first = run()
    assert first == ({"result": [48, 1]}, 1)  # 3 * 5 * 2 + 7 + 11
    assert run() == first
    assert run(unused=9) == first, "code that the experiment doesn't use is no reason"
    n_runs = 1
    for part in ("factor", "base", "size", "surplus", "constant", "own", "argument", "table"):
        result, now = run(**{part: 100})
        assert now == n_runs + 1, f"a change of {part} was not seen"
        assert result != first[0]
        n_runs = now
    assert run() == (first[0], n_runs)


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
