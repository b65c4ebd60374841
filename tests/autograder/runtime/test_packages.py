"""Packages: which a notebook can count on, and what is said about others."""

import copy
import importlib
import sys
import types

import numpy as np
import pytest
import torch

from autograder.build.source_notebook import source_notebook
from autograder.instructor_settings import Settings
from autograder.programs import bound_names
from autograder.runtime.compare import Difference, Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.messages import sentence
from autograder.runtime.notebook import Checks
from autograder.runtime.packages import not_offered, with_offered
from tests.support.course import COURSE
from tests.support.notebook_checks import HALVED, SECTIONS, values_cell

# what an exercise imports itself
USED = ("numpy", "torch")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A function that makes and imports a module, in an environment or beside the notebook."""
    environment, beside = tmp_path / "lib" / "site-packages", tmp_path / "beside"
    for folder in (environment, beside):
        folder.mkdir(parents=True)
        monkeypatch.syspath_prepend(str(folder))
    made = []

    def install(name, folder=environment):
        (folder / f"{name}.py").write_text("def rearrange():\n    pass\n", encoding="utf-8")
        importlib.invalidate_caches()
        made.append(name)
        return importlib.import_module(name)

    install.beside = beside
    yield install
    for name in made:
        sys.modules.pop(name, None)


def test_packages_that_are_not_offered_are_found(installed):
    extra, own = installed("extra_package"), installed("own_file", installed.beside)
    names = {
        "np": np,
        "nn": torch.nn,
        "copy": copy,
        "extra": extra,
        "helper": own.rearrange,
        "mine": lambda x: x,
        "number": 7,
        "odd": types.ModuleType("made_up"),
    }
    assert not_offered(names, USED) == ["extra_package"]
    assert not_offered({"rearrange": extra.rearrange}, ()) == ["extra_package"]
    assert not_offered(names, (*USED, "extra_package")) == []
    # an exercise without torch does not offer it
    assert not_offered({"np": np, "nn": torch.nn}, ("numpy",)) == ["torch"]


def test_a_check_says_so_once_and_lets_the_answer_pass(installed, capsys):
    names = {"extra": installed("extra_package"), "double": lambda x: 2.0 * x}
    checks = Checks({"halved": HALVED}, SECTIONS, packages=(*USED, "scipy"))
    checks.run_cell("values", values_cell(), names)
    said = capsys.readouterr().out
    assert "Note: your notebook uses extra_package." in said
    assert "only numpy, torch, scipy and what comes with Python" in said
    checks.run_cell("values", values_cell(), names)
    assert "Note" not in capsys.readouterr().out
    Checks({"halved": HALVED}, SECTIONS).run_cell("values", values_cell(), names)
    assert "Note" not in capsys.readouterr().out


def told(function, **names):
    """What a check says about an answer that raises, when scipy is offered."""
    got = evaluate("f(x)", {"f": function}, {"x": 1, **names}, 0)
    expected = Expected.read({"value": evaluate("1.0", {}, {}, 0)["value"], "parameters": []})
    return sentence(with_offered(judge(expected, Evaluation.read(got)), (*USED, "scipy")))


def test_an_import_inside_an_answer_names_what_there_is():
    def answer(x):
        import no_such_package

        return no_such_package

    words = told(answer)
    assert words.startswith("your code raised ModuleNotFoundError: No module named")
    assert "can use numpy, torch, scipy, and what comes with Python" in words
    assert "Ask your instructor" in words


def test_other_differences_say_nothing_of_packages():
    problem = Difference("number", {"expected": 1.0, "got": 2.0})
    assert with_offered(problem, ("scipy",)) is problem
    raised = Difference("error", {"name": "ValueError", "message": "no", "line": ""})
    assert with_offered(raised, ("scipy",)) is raised


def test_a_tensor_that_cannot_be_copied_says_what_to_do():
    x = torch.ones(2, requires_grad=True) * 2
    words = told(lambda x: copy.deepcopy(x), x=x)
    assert "deepcopy protocol" in words and "Copy a tensor with `.clone()`" in words


def test_the_first_cell_names_the_packages_of_the_settings():
    exercise = COURSE.exercises()[0]
    for packages in ((), ("matplotlib", "einops")):
        first = source_notebook(exercise, Settings(packages=packages)).cells[0]
        named = ", ".join(f"`{name}`" for name in ("numpy", "torch", *packages))
        assert f"Your code may import {named} and whatever comes with Python." in first.source


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b, c as d\nfrom e import f as g, h", {"a", "d", "g", "h"}),
        ("def f():\n    x = 1\n\nclass C: pass", {"f", "C"}),
        ("x = y, (z, *w) = 1, (2, 3)\nx.a = 1\nprint(q)", {"x", "y", "z", "w"}),
        ("def f(:", set()),
        ("\x00", set()),
    ],
)
def test_the_names_that_a_cell_binds(text, names):
    assert bound_names(text) == names
