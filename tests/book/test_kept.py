"""Results of long experiments are kept until code that they depend on changes."""

import sys
from collections import deque

import pytest

from tests.support.course import COURSE

PAGE = """
from functools import cache

from kept import kept

FACTOR = {factor}


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
    return [Model().total() * FACTOR + {constant} for _ in range(2)][0] + x


def unused():
    return {unused}


def experiment(x):
    runs.append(x)
    return {{"result": (helper(x), {own})}}


result = kept(experiment, {argument}, folder=folder)
"""
GIVEN = {
    "factor": 2, "base": 3, "size": 5, "words": "a", "constant": 7, "unused": 0, "own": 1,
    "argument": 11, "surplus": 0,
}  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the page with some parts changed: its result, and how often it was computed so far."""
    monkeypatch.syspath_prepend(COURSE.root / "book")
    runs = deque()  # no plain data, so no part of the key

    def run_page(**changed):
        # cells of a page belong to the module __main__, too
        names = {"__name__": "__main__", "folder": tmp_path, "runs": runs}
        exec(PAGE.format(**{**GIVEN, **changed}), names)
        return names["result"], len(runs)

    yield run_page
    sys.modules.pop("kept", None)


def test_a_result_is_computed_once_for_each_code_and_argument(run):
    first = run()
    assert first == ({"result": [48, 1]}, 1)  # 3 * 5 * 2 + 7 + 11
    assert run() == first
    assert run(unused=9) == first, "code that the experiment doesn't use is no reason"
    n_runs = 1
    for part in ("factor", "base", "size", "surplus", "constant", "own", "argument"):
        result, now = run(**{part: 100})
        assert now == n_runs + 1, f"a change of {part} was not seen"
        assert result != first[0]
        n_runs = now
    assert run() == (first[0], n_runs)


def test_functions_of_the_course_count(run):
    """A page's experiment depends on the reference solutions that it calls."""
    from kept import _key

    names = {"__name__": "__main__"}
    exec(
        "from solutions.ch2_scaled_dot_product import attention\n"
        "def experiment():\n    return attention",
        names,
    )
    found = _key(names["experiment"], ())["code"]
    assert "solutions.ch2_scaled_dot_product.attention" in found
    assert "__main__.experiment" in found
    assert all(name.startswith(("solutions.", "__main__.")) for name in found)
