"""An answer that its cell doesn't define: the student reads why, and what to do."""

import sys
from types import SimpleNamespace

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.course import Course
from autograder.grade import examine
from autograder.grade.examine import grade_submission
from autograder.grade.make_keys import answer_key
from autograder.grade.submission import Submission, SubmittedCell
from autograder.grade.words import sentence
from autograder.instructor_settings import Limits, Settings

VERSION = f"Python 3.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def key(small_exercise):
    return answer_key(Course(small_exercise.root), small_exercise)


def told(key, answer, *own):
    """What is said of the first check that fails; empty if none does. own: cells above the answer's."""
    cells = (
        *(SubmittedCell("code", source) for source in own),
        SubmittedCell("code", answer, grade_id="double"),
    )
    result = grade_submission(Submission("ada", cells), key, Settings(Limits(sandbox=False))).result
    return next((sentence(line) for _, line in result.lines() if not line.passed), "")


RIGHT = "{}(x):\n    {}\n    twice = 2 * x\n    return twice, {{'sum': float(twice.sum()), 'size': twice.size}}"


@pytest.mark.parametrize(
    "answer",
    [
        "type Number = float\n" + RIGHT.format("def double", ""),
        RIGHT.format("def double[T]", ""),
        RIGHT.format("def double", 'd = {"a": 1}; print(f"{d["a"]}")'),
    ],
    ids=["type", "parameters", "quotes"],
)
def test_newer_syntax_is_told_with_the_version_that_there_is(key, answer):
    found = told(key, answer)
    if sys.version_info >= (3, 12):
        assert found == ""
    else:
        assert "SyntaxError" in found and VERSION in found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            "def my_double(x):\n    return 2 * x",
            "defines `my_double`. Keep the name that was handed out",
        ),
        ("# def double(x):\n#     return 2 * x", "the answer cell double doesn't define it"),
    ],
    ids=["renamed", "commented out"],
)
def test_a_cell_that_defines_something_else_is_told(key, answer, words):
    found = told(key, answer)
    assert found.startswith("`double` is not defined: the answer cell double") and words in found


@pytest.mark.parametrize("first", ["import google.colab", "%pwd", "files = !ls", "!ls\nprint?"])
def test_a_helper_whose_cell_failed_is_told_with_that_cell(key, first):
    answer = RIGHT.format("def double", "helper()")
    helper = "from google.colab import drive\ndef helper():\n    pass"
    found = told(key, answer, f"{first}\n{helper}")
    line = first.partition("\n")[0]
    assert found.startswith(
        f"`helper` doesn't exist: your own cell that begins with `{line}` failed"
    )
    assert "No module named 'google'" in found and "hand in your own files" in found


def test_an_answer_in_another_answers_cell_is_told():
    """Both tasks in the first cell, and the second cell as it was handed out."""
    cells = [
        new_code_cell("def a():\n    return 1\n\ndef b():\n    return 2", id="a"),
        new_code_cell("def b():\n    raise NotImplementedError", id="b"),
        new_code_cell("b()", id="checks"),
    ]
    for cell in cells[:2]:
        cell.metadata["nbgrader"] = NotebookNode(grade_id=cell.id, solution=True)
    key = SimpleNamespace(answers={"a": ("a",), "b": ("b",)}, graded={"checks": ("b",)})
    found = examine._OwnDefinitions(cells, key).elsewhere(key, "checks")
    assert found.parameters == {"answer": "b", "cell": "b", "line": "def a():", "below": False}


def test_any_other_slip_is_told_without_it(key):
    found = told(key, "def double(x:\n    return 2 * x")
    assert "SyntaxError" in found and VERSION not in found
