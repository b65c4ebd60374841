"""The cells *Now use it*: they run, say what they lack, and grading leaves them out."""

import ast
import re

import pytest
import torch

from autograder.exercises import metadata_of, reference_answers, released
from autograder.grade.kernel_run import steps_of
from autograder.grade.sanitize import sanitized
from autograder.grade.submission import Submission, SubmittedCell
from autograder.reference import namespace_of
from autograder.runtime.notebook import unanswered
from tests.support.course import COURSE

SHORT = {
    "ch1_additive_attention": {"seconds": 0.5},
    "ch3_multi_head": {"seconds": 0.5},
    "ch6_transformer": {"seconds": 0.5},
    "ch7_training": {"seconds": 0.5},
    "ch8_language_model": {"seconds": 0.5},
    "ch9_flash_attention": {"lengths": (64, 100)},
    "ch10_circuits": {"seconds": 0.5},
}
EXERCISES = pytest.mark.parametrize("name", SHORT)


def cell_of(name):
    (cell,) = [cell for cell in released(COURSE.exercise(name)).cells if cell.id == "now_use_it"]
    return cell


def used(source, names, missing=()):
    """Define what a cell defines, with answers by name; returns its `now_use_it`."""
    names = {**names, "still_missing": lambda *wanted: bool(set(wanted) & set(missing))}
    exec(compile(source, "now_use_it", "exec"), names)
    return names["now_use_it"]


@EXERCISES
def test_it_is_locked_gives_no_points_and_is_called_by_hand(name):
    cell = cell_of(name)
    assert metadata_of(cell).locked and not metadata_of(cell).get("grade")
    assert cell.source.endswith("\n# now_use_it()")


@EXERCISES
def test_it_runs_with_right_answers(name, capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    threads = torch.get_num_threads()
    used(cell_of(name).source, namespace_of(COURSE.exercise(name).program()))(**SHORT[name])
    assert torch.get_num_threads() == threads
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) > 2
    # what the GPT writes after half a second holds any three letters
    told, _, _ = shown.partition("It writes:")
    assert re.search(r"\d", told) and "nan" not in told


@EXERCISES
def test_it_asks_for_the_answers_that_it_calls(name):
    """Each by its name, before anything is computed."""
    exercise = COURSE.exercise(name)
    source, names = cell_of(name).source, namespace_of(exercise.program())
    tree = ast.parse(source)
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    (asked,) = (
        {name.value for name in node.args}
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "still_missing"
    )
    answers = reference_answers(exercise).keys()
    assert called & answers <= asked <= answers
    for answer in asked:
        assert used(source, names, missing=[answer])() is None


@EXERCISES
def test_grading_runs_no_version_of_it(name):
    release = released(COURSE.exercise(name))
    cells = [
        SubmittedCell(cell.cell_type, cell.source, grade_id=metadata_of(cell).get("grade_id"))
        for cell in release.cells
    ]
    changed = [
        SubmittedCell("code", cell.source.replace("# now_use_it()", "now_use_it()"), "now_use_it")
        if cell.grade_id == "now_use_it"
        else cell
        for cell in cells
    ]
    notebook, remarks = sanitized(Submission("ada", tuple(changed)), release, {})
    assert "now_use_it" not in "".join(step.source for step in steps_of(notebook))
    assert not [remark for remark in remarks if remark.kind == "check_changed"]


def test_what_is_not_written_yet_is_found():
    stubs = {}
    exec(
        "def one(x):\n    raise NotImplementedError('To do')\n"
        "class Two:\n    def __init__(self):\n        self.x = 1\n"
        "    def update(self):\n        raise NotImplementedError('To do')\n"
        "def three(x):\n    return x\n"
        "class Four:\n    def __init__(self):\n        self.x = 1\n",
        stubs,
    )
    assert unanswered(stubs, ["one", "Two", "three", "Four", "five"]) == ["one", "Two", "five"]
