"""Differences as they are told: with named parts, without the constants that a line adds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder.runtime.compare import Difference, Expected, difference, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.helpers import NOTHING
from autograder.runtime.messages import sentence
from autograder.runtime.plan import plan, with_asides
from autograder.runtime.telling import refined
from tests.support.course import plain

A = np.random.default_rng(1).standard_normal((2, 3))


def said(expression, expected, got, parts=(), inputs=None):
    """What is said about a line."""
    (check,) = parse_cell(f"says('x', parts={parts!r})\ncheck({expression!r}, points=1)").checks
    wanted, found = Expected(plain(expected)), Evaluation(plain(got))
    problem = judge(wanted, found)
    return sentence(refined(problem, check, inputs or {}, wanted, found))


@pytest.mark.parametrize("function", [lambda x, y: x.detach(), lambda x, y: 2 * x + 0 * y.detach()])
def test_a_gradient_that_does_not_arrive_is_told(function):
    code, inputs = "gradients(f, x, x + 1)", {"x": torch.from_numpy(A)}
    right, wrong = (
        Evaluation.read(evaluate(code, {"f": f}, inputs, 0)) for f in (lambda x, y: x * y, function)
    )
    (check,) = parse_cell(f"check({code!r}, points=1)").checks
    problem = difference(right.value.items["inputs"].items[1], wrong.value.items["inputs"].items[1])
    place = (("key", "inputs"), ("part", 2, 2))
    problem = refined(replace(problem, place=place), check, inputs, Expected(right.value), wrong)
    words = sentence(problem)
    assert words.startswith("in 'inputs', part 2 of 2: no gradient arrives here")
    assert "copy.deepcopy" in words


def test_zeros_are_no_missing_gradient():
    for expression in ("gradients(f, x)", "f(x)"):
        assert "no gradient arrives" not in said(expression, [A], [0 * A])


def test_added_constants_are_never_shown():
    changed = A.copy()
    changed[0, 1] = 7
    words = said("100 + f(x)", 100 + A, 100 + changed)
    assert words == f"1 of 6 entries differs, at index [0, 1]: expected {A[0, 1]:.6g}, got 7"
    assert said("[2 + f(n) for n in ns]", [2.5], [2.75]) == "in part 1 of 1: expected 0.5, got 0.75"
    assert said("100 + f(x)", 100 + A, 100 - A).startswith("every entry has the wrong sign")


def test_parts_go_by_their_names():
    words = said("[f(n) for n in ns]", [1, 2], [1, 5], "step {n}", {"ns": [4, 9]})
    assert words == "in step 9: expected 2, got 5"
    words = said("f(x)", [A, A + 1], [A, True], ["output", "weights"])
    assert (
        words == "in weights: expected a NumPy array of shape (2, 3), got True; output is correct"
    )


def test_named_parts_beside_a_wrong_one_are_told_where_all_of_them_are_right():
    names = ["output", "weights", "cache"]
    words = said("f(x)", [0.5, 2, 3], [0.7, 2, 3], names)
    assert words == "in output: expected 0.5, got 0.7; weights and cache are correct"
    assert said("f(x)", [0.5, 2, 3], [0.7, 2, 4], names).endswith("got 0.7")
    inner = ("step {n}", ["output", "weights"])
    words = said("[f(n) for n in ns]", [[1, 2], [3, 4]], [[1, 2], [3, 5]], inner, {"ns": [4, 9]})
    assert words == "in step 9, weights: expected 4, got 5; output is correct"


def test_numbers_in_place_of_booleans_are_judged_as_booleans_too():
    mask = np.array([True, False, True])
    words = "dtype: expected bool, got float64; as True and False, "
    assert said("f(x)", mask, mask.astype(float)) == words + "every entry would be correct"
    assert (
        said("f(x)", mask, np.array([1.0, 1, 1]))
        == words + "1 of 3 entries would be incorrect, too"
    )
    assert said("f(x)", mask, np.array([0, -np.inf, 0])) == "dtype: expected bool, got float64"


def test_only_a_whole_result_asks_for_a_return():
    assert said("f(x)", A, None).endswith("got None: is a `return` missing?")
    assert said("f(x)", [A, A], [A, None]).endswith("got None")


def test_booleans_are_true_and_false():
    assert said("f(x)", np.array([True, False, True]), np.array([True, True, True])) == (
        "1 of 3 entries differs, at index [1]: expected False, got True"
    )


def test_a_changed_argument_is_told_as_such_and_a_wrong_result_is_not():
    names = ["x", "result"]
    words = said("inputs_after(f, x)", [A, A + 1], [A + 1, A + 1], parts=names)
    assert words.startswith("in x: your code changes this argument")
    words = said("inputs_after(f, x)", [A, A + 1], [A, A + 2], parts=names)
    assert words.startswith("in result: ") and "argument" not in words


def test_a_line_about_arguments_waits_for_a_result_that_other_lines_are_about():
    (check,) = parse_cell("check('inputs_after(f, x)', points=1)").checks
    wanted, found = Expected(plain([A, A + 1])), Evaluation(plain([A, A + 2]))
    aside = refined(judge(wanted, found), check, {}, wanted, found)
    other = Difference("entries")
    assert [one and one.aspect for one in with_asides([None, other, aside])] == [
        None,
        "entries",
        "not_judged",
    ]
    assert with_asides([None, aside]) == [None, aside]
    (first, second) = plan([other, Difference("not_judged")], [None] * 2, ["a", "b"]).lines
    assert first.problem and second.folded and (first.waits, second.waits) == (False, True)


@pytest.mark.parametrize(
    ("name", "begins"),
    [("in training mode", "in training mode: "), ("n=3", "for n=3: "), ("weights", "in weights: ")],
)
def test_a_place_reads_as_a_phrase(name, begins):
    assert said("f(x)", [1, 2], [5, 2], parts=[name, "other"]).startswith(begins)


def test_an_exception_that_is_missing_or_too_much_is_told_in_words():
    assert said("raised(f, 0)", "ValueError", NOTHING) == "no ValueError was raised"
    assert said("raised(f, 1)", NOTHING, "ValueError").startswith("ValueError was raised")
