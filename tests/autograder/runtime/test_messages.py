"""The sentences that students read about differences and recognised mistakes."""

import inspect
import re

import numpy as np
import pytest
import torch

from autograder.runtime import compare
from autograder.runtime.compare import Difference, Expected, difference, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import Agreement, Check
from autograder.runtime.messages import USUAL, sentence
from autograder.runtime.telling import refined
from tests.support.course import plain

WEIGHTS = np.array([[0.2, 0.8, 0.0], [0.5, 0.25, 0.25]])
# aspect: (expected, got, sentence)
VALUES = {
    "kind": (
        WEIGHTS,
        None,
        "expected a NumPy array of shape (2, 3), got None: is a `return` missing?",
    ),
    "keys": (
        {"a": 1, "b": 2},
        {"b": 2, "c": 3},
        "the names differ (missing: a; unexpected: c)",
    ),
    "length": ([1, 2], [1], "expected a list or tuple of 2, got a list or tuple of 1"),
    "shape": (WEIGHTS, WEIGHTS[0], "shape: expected (2, 3), got (3,)"),
    "dtype": (WEIGHTS, WEIGHTS > 0, "dtype: expected float64, got bool"),
    "not_finite": (
        WEIGHTS,
        np.where(WEIGHTS > 0.7, np.nan, WEIGHTS),
        "1 entry is NaN or infinite; 1 of 6 entries differs, at index [0, 1]: expected 0.8, got nan",
    ),
    "not_zero": (
        WEIGHTS,
        np.where(WEIGHTS == 0, 0.5, WEIGHTS),
        "entries that must be exactly 0 are not; 1 of 6 entries differs, at index [0, 2]: expected "
        "0, got 0.5",
    ),
    "rows": (
        WEIGHTS,
        WEIGHTS * [[2], [1]],
        "the rows do not sum to one; 2 of 6 entries differ, with the largest difference at index [0, 1]: expected 0.8, got 1.6",
    ),
    "scale": (
        WEIGHTS - 5,
        3 * (WEIGHTS - 5),
        "every entry is 3 times the expected one; all 6 entries differ, with the largest difference at index [0, 2]: "
        "expected -5, got -15",
    ),
    "entries": (
        torch.tensor(1.5),
        torch.tensor(2.5),
        "expected 1.5, got 2.5",
    ),
    "number": (True, 1, "expected True, got 1"),
    "text": ("ValueError", "nothing", "no ValueError was raised"),
}


@pytest.mark.parametrize("aspect", VALUES)
def test_the_sentence_about_a_value(aspect):
    expected, got, words = VALUES[aspect]
    problem = difference(plain(expected), plain(got))
    assert problem.aspect == aspect
    assert sentence(problem) == words


def to_do(message):
    raise NotImplementedError(message)


JUDGED = {
    "to_do": (
        Evaluation.read(evaluate("to_do('To do: your code.')", {"to_do": to_do}, {}, 0)),
        "To do: your code.",
    ),
    "forbidden": (
        Evaluation(plain(1), forbidden=("Transformer",)),
        "Transformer was called; this exercise asks you to build attention from scratch",
    ),
    "error": (
        Evaluation.read(evaluate("[1][2]", {}, {}, 0)),
        "the check could not continue: IndexError: list index out of range",
    ),
    "parameters": (
        Evaluation(plain(2), ({"w": [1, 2]},)),
        "your module's parameters: the names differ (missing: w (2, 1); unexpected: w (1, 2)); "
        "attribute names are part of the task",
    ),
    "agreement": (
        Evaluation(plain([[1, 2], [3], [0], "five"])),
        "2 of 4 are correct, and 75% are needed; the first that is not: in part 3 of 4, part 1 of 1: "
        "expected 4, got 0",
    ),
    "processor_time": (
        Evaluation(plain(1), processor_seconds=12.6),
        "it used 12.6 seconds of processor time. The limit is 10 seconds, and up to 12.5 are "
        "tolerated. Does your loop check time.process_time()?",
    ),
}


@pytest.mark.parametrize("aspect", JUDGED)
def test_the_sentence_about_an_evaluation(aspect):
    got, words = JUDGED[aspect]
    if aspect == "agreement":
        expected = Expected(plain([[1, 2], [3], [4], [5]]), share=0.75)
    elif aspect == "processor_time":
        expected = Expected(plain(1), processor_seconds=10)
    else:
        expected = Expected(plain(1), ({"w": [2, 1]},))
    problem = judge(expected, got)
    assert problem.aspect == aspect
    assert sentence(problem) == words


def test_an_example_of_a_wrong_translation_is_shown():
    line = Agreement("targets", 0.75, processor_seconds=10, sources="asked")
    check = Check("fit(pairs)(asked)", 1, agreement=line)
    expected = Expected(plain([[1, 2], [3], [4]]), share=0.75, processor_seconds=10)
    got = Evaluation(plain([[1, 2], [5, 6], []]), processor_seconds=9.04)
    inputs = {"asked": [[7], [8, 9], [7]]}
    problem = refined(judge(expected, got), check, inputs, expected, got)
    assert sentence(problem) == (
        "1 of 3 are correct, and 75% are needed; the first that is not: [8, 9] should become [3], and yours "
        "is [5, 6]. 9.0 of 10 seconds of processor time were used"
    )


@pytest.mark.parametrize(
    ("got", "kind"),
    [
        ([[7, 8, 2], [9, 2], [3, 4, 2]], ("end", 2)),
        ([[7, 8, 0, 0], [9, 0, 0, 0], [3, 4]], ("padding", 0)),
        ([[0, 0, 0], [0, 0], [0, 0]], ("padding", 0)),
        ([[1, 1, 1], [1, 1, 1], [7, 7]], ("copies", 1)),
        ([[1], [1], [1]], ("only", 1)),
        ([[7, 7], [7, 7], [7, 7]], None),
        ([[8, 7], [9], [4, 3]], None),
    ],
)
def test_translations_show_what_they_usually_show(got, kind):
    check = Check("fit(pairs)(asked)", 1, agreement=Agreement("targets", 0.9, sources="asked"))
    expected, found = Expected(plain([[7, 8], [9], [3, 4]]), share=0.9), Evaluation(plain(got))
    asked = {"asked": [[1], [2], [3]]}
    problem = refined(judge(expected, found), check, asked, expected, found)
    assert problem.parameters["usual"] == kind
    assert kind is None or USUAL[kind[0]].format(kind[1]) in sentence(problem)


def test_every_aspect_stands_in_one_of_the_tests_above():
    made = re.findall(r'Difference\(\s*"(\w+)"', inspect.getsource(compare))
    assert set(VALUES) | set(JUDGED) == set(made)


def test_an_error_is_shown_with_its_line():
    where = {"line": "f(x)", "inside": "", "by_check": False}
    problem = Difference("error", {"name": "ValueError", "message": "no", **where})
    assert sentence(problem) == "your code raised ValueError: no  (at: f(x))"


def test_a_place_in_a_nested_value_comes_first():
    problem = difference(plain({"a": [None, "x"]}), plain({"a": [None, "y"]}))
    assert sentence(problem) == "in 'a', part 2 of 2: expected 'x', got 'y'"


def test_an_error_in_code_of_the_course_names_the_students_line_first():
    where = {"line": "layer(x, mask)", "inside": "scores + bias", "by_check": False}
    problem = Difference("error", {"name": "ValueError", "message": "no", **where})
    assert sentence(problem) == (
        "your code raised ValueError: no  (at: layer(x, mask); inside what you have built so far: scores "
        "+ bias)"
    )


def test_a_missing_bias_is_told_as_such():
    told = lambda *missing: sentence(
        Difference("parameters", {"missing": missing, "extra": [], "repeated": ""})
    )
    assert told("linear2.bias (12,)") == "`linear2` has no bias"
    assert told("w_q.bias (4,)", "w_k.bias (4,)") == "`w_q`, `w_k` have no bias"
    assert told("w_q.bias (4,)", "w_k.weight (4, 4)").startswith("your module's parameters")


def test_a_layer_used_several_times_is_told():
    problem = Difference(
        "parameters", {"missing": ["layers.1.w (2,)"], "extra": [], "repeated": "layers.1"}
    )
    assert "`[layer] * n` repeats one layer n times" in sentence(problem)
