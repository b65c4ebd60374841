"""Comparing what came with what is expected: the first property that breaks, as an identifier."""

import inspect
import json
import re

import numpy as np
import pytest
import torch

from autograder.runtime import compare, plan, relations, telling
from autograder.runtime.compare import (
    NUDGE,
    Difference,
    Expected,
    cancellation,
    difference,
    judge,
)
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.messages import SENTENCES
from autograder.runtime.plain_data import Error, decode, encode
from tests.support.course import plain


def found(expected, got):
    return difference(plain(expected), plain(got))


def aspect(expected, got):
    problem = found(expected, got)
    return problem and problem.aspect


def judged(expected, got, **rest):
    """The aspect in which a list falls short of a share of its items, or None."""
    problem = judge(Expected(plain(expected), **rest), Evaluation(plain(got)))
    return problem and problem.aspect


def test_differences_are_named_by_the_first_property_that_breaks():
    weights = np.array([[0.2, 0.8, 0.0], [0.5, 0.25, 0.25]])
    assert aspect(weights, weights + 1e-12) is None
    assert aspect(weights, torch.from_numpy(weights)) == "kind"
    assert aspect(weights, weights[:, None]) == "shape"
    assert aspect(weights, weights.astype(int)) == "dtype"
    assert aspect(weights, np.where(weights > 0.7, np.nan, weights)) == "not_finite"
    assert aspect(weights, weights + 1e-3) == "not_zero"
    assert aspect(weights, weights * [[2], [1]]) == "rows"
    assert aspect(weights - 5, 3 * (weights - 5)) == "scale"
    assert aspect(weights, weights[:, [1, 0, 2]]) == "entries"
    assert aspect([1, 2], (1, 2)) is None
    assert aspect([1, 2], [1, 2, 3]) == "length"
    assert aspect({"a": 1}, {"b": 1}) == "keys"
    assert aspect("a", "b") == "text"
    assert aspect(None, 0) == "kind"
    assert aspect(3, 4) == "number"
    assert aspect(3.0, np.float32(3.0)) is None
    assert aspect(0.5, torch.tensor(0.5)) is None
    assert aspect(True, 1) == "number"


VALUES = np.random.RandomState(0).standard_normal((4, 5))


def test_a_result_that_was_cast_to_float32_is_accepted_and_a_rounded_one_is_not():
    assert aspect(VALUES, VALUES.astype(np.float32)) is None
    assert aspect(VALUES, np.round(VALUES, 3)) == "entries"


@pytest.mark.parametrize("error", [3e-6, 5e-5])
def test_casting_makes_no_near_miss_right(error):
    near = VALUES * (1 + error)
    assert aspect(VALUES, near) is not None
    assert aspect(VALUES, near.astype(np.float32)) is not None
    # what is expected in float32 has float32's rounding
    assert aspect(VALUES.astype(np.float32), near) is None
    assert aspect(VALUES.astype(np.float32), near.astype(np.float32)) is None


def test_where_a_statement_leaves_the_data_type_open_float32_is_tolerated():
    near = (VALUES * (1 + 5e-5)).astype(np.float32)
    expected, got = Expected(plain(VALUES)), Evaluation(plain(near))
    assert judge(expected, got) is not None
    assert judge(expected, got, lenient=True) is None
    # but what is float64 is judged as ever
    assert judge(expected, Evaluation(plain(VALUES * (1 + 5e-5))), lenient=True) is not None


def test_a_factor_of_nearly_one_is_never_told():
    wanted = np.array([[0.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    got = wanted.copy()
    got[0, 0] = 1e-9
    assert "factor" not in found(wanted, got).parameters
    assert "factor" not in found(wanted, wanted * (1 + 2e-6)).parameters


@pytest.mark.parametrize(
    ("dtype", "accepted", "refused"),
    [
        (torch.float64, 5e-7, 3e-6),
        (torch.float32, 5e-5, 3e-4),
        (torch.float16, 1e-2, 4e-2),
        (torch.bfloat16, 1e-2, 4e-2),
    ],
)
def test_the_tolerance_is_relative_and_that_of_the_expected_dtype(dtype, accepted, refused):
    # powers of two, so that a small relative change isn't rounded away in half precision
    expected = torch.tensor([1.0, -2.0, 4.0, 64.0], dtype=dtype)
    signs = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
    exact = expected.double()
    for share in (accepted, -accepted):
        assert aspect(expected, (exact * (1 + share * signs)).to(dtype)) is None
    for share in (refused, -refused):
        assert aspect(expected, (exact * (1 + share * signs)).to(dtype)) == "entries"


def test_half_precision_is_tolerated_only_where_it_is_expected():
    values = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    assert aspect(values, (values * 1.01).half()) is not None
    assert aspect(values.half(), values * 1.01) is None


@pytest.mark.parametrize(
    ("change", "aspect_found"), [(5e-6, None), (-5e-6, None), (3e-5, "number"), (-3e-5, "number")]
)
def test_the_tolerance_of_a_number(change, aspect_found):
    assert aspect(3.0, 3.0 * (1 + change)) == aspect_found


def test_a_difference_has_its_place_and_both_numbers():
    expected, got = np.zeros((2, 3)), np.zeros((2, 3))
    got[1, 2] = 7
    problem = found({"a": [None, expected]}, {"a": [None, got]})
    assert problem.aspect == "entries"
    assert problem.place == (("key", "a"), ("part", 2, 2))
    assert problem.parameters == {
        "wrong": 1,
        "size": 6,
        "index": [1, 2],
        "expected": 0.0,
        "got": 7.0,
    }


def test_the_parameters_of_each_difference():
    weights = np.array([[0.2, 0.8, 0.0], [0.5, 0.25, 0.25]])
    nan = np.where(weights > 0.7, np.nan, weights)
    assert found(weights, nan).parameters["not_finite"] == 1
    assert found(weights - 5, 3 * (weights - 5)).parameters["factor"] == pytest.approx(3)
    assert found(weights, weights[:1]).parameters == {"expected": [2, 3], "got": [1, 3]}
    assert found(weights, weights > 0).parameters == {"expected": "float64", "got": "bool"}
    assert found({"a": 1}, {"b": 1}).parameters == {"missing": ["a"], "extra": ["b"]}
    assert found(2, 3j).parameters["got"] == {"kind": "unsupported", "type": "complex"}
    assert found([1], weights).parameters == {
        "expected": {"kind": "list", "length": 1},
        "got": {"kind": "array", "shape": [2, 3]},
    }


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("check('f(x)', points=1)", {}),
        ("check('100 + f(x)', points=1)", {"expression": "100 + f(x)"}),
        (
            "agreement('x', share=0.75, processor_seconds=10)\ncheck('f(x)', points=1)",
            {"share": 0.75, "processor_seconds": 10},
        ),
    ],
)
def test_what_a_line_says_of_itself_comes_with_what_is_expected(cell, said):
    (check,) = parse_cell(cell).checks
    parameters = [{"w": [2]}]
    data = json.loads(json.dumps(Expected.data(check, encode([1.5, 2.0]), parameters)))
    assert Expected.read(data) == Expected(plain([1.5, 2.0]), tuple(parameters), **said)


def test_a_share_of_a_list_can_be_asked_for():
    right = [[1, 2], [3], [4], [5]]
    assert judged(right, right, share=0.75) is None
    assert judged(right, [[1, 2], [3], [4], [0]], share=0.75) is None
    half = judge(Expected(plain(right), share=0.75), Evaluation(plain([[1, 2], [3], [0], "five"])))
    assert half.aspect == "agreement"
    assert {k: half.parameters[k] for k in ("right", "total", "share")} == {
        "right": 2,
        "total": 4,
        "share": 0.75,
    }
    aspect_of_first, _, place = half.parameters["first"]
    assert aspect_of_first == "number" and place == [["part", 3, 4], ["part", 1, 1]]
    for other in (None, [], [[1, 2], [3], [4]], {"0": [1, 2]}, torch.ones(4), "text"):
        assert judged(right, other, share=0.75) in ("kind", "length")
    error = Evaluation.read(evaluate("1 / 0", {}, {}, 0))
    assert judge(Expected(plain(right), share=0.75), error).aspect == "error"


def test_an_answer_that_nobody_has_begun_is_told_from_an_error():
    def stub():
        raise NotImplementedError("To do: put your code in place of this line.")

    def other():
        raise NotImplementedError("later")

    one = Expected(decode(encode(1)))
    names = {"stub": stub, "other": other}
    begun = judge(one, Evaluation.read(evaluate("stub()", names, {}, 0)))
    assert begun == Difference("to_do", {"message": "To do: put your code in place of this line."})
    assert judge(one, Evaluation.read(evaluate("other()", names, {}, 0))).aspect == "error"


def test_parameters_of_other_names_explain_another_value():
    shapes, others = ({"w_q": [2, 3], "w_k": [2, 3]},), ({"w_q": [3, 2], "w_k": [2, 3]},)
    expected = Expected(plain(1.0), shapes)
    assert judge(expected, Evaluation(plain(1.0), others)) is None
    assert judge(expected, Evaluation(plain(2.0), shapes)).aspect == "number"
    problem = judge(expected, Evaluation(plain(2.0), others))
    assert problem == Difference(
        "parameters", {"missing": ["w_q (2, 3)"], "extra": ["w_q (3, 2)"], "repeated": ""}
    )


def test_a_layer_used_several_times_is_told_from_other_names():
    def problem(*names):
        wanted = {name: [2] for name in ("layers.0.w", "layers.1.w", "v")}
        got = Evaluation(plain(2.0), ({name: [2] for name in names},))
        return judge(Expected(plain(1.0), (wanted,)), got).parameters["repeated"]

    assert problem("layers.0.w", "v") == "layers.1"
    assert problem("layers.0.w", "w") == ""
    assert problem("v") == ""


def test_a_crash_is_an_error_whatever_parameters_were_seen_before():
    got = Evaluation(Error("RuntimeError", "sizes"), ())
    assert judge(Expected(plain(1.0), ({"w": [2]},)), got).aspect == "error"
    got = Evaluation(Error("RuntimeError", "sizes"), ({"v": [2]},))
    assert judge(Expected(plain(1.0), ({"w": [2]},)), got).aspect == "error"


def test_every_aspect_has_a_sentence():
    sources = "".join(map(inspect.getsource, (compare, relations, telling, plan)))
    assert set(SENTENCES) == set(re.findall(r'Difference\(\s*"(\w+)"', sources))


def test_what_cancels_is_compared_by_the_size_of_what_was_added_up():
    x = np.array([1.0, 3.0]) + 1e-3
    sums = [x.sum(), x[1] - x[0] - 1.99]
    moved = x * (1 + NUDGE * np.array([1, -1]))
    others = [moved.sum(), moved[1] - moved[0] - 1.99]
    one, other = ([np.array([value]) for value in values] for values in (sums, others))
    assert 300 < abs(others[1] - sums[1]) / sums[1] / NUDGE < 500
    assert cancellation(plain(one[:1]), plain(other[:1])) == 1
    assert cancellation(plain(one), plain(other)) == 100
    a = np.array([1e-3, 1e-7])
    got = Evaluation(plain(a + 1e-12))
    assert judge(Expected(plain(a)), got) and not judge(Expected(plain(a), summed=100), got)
    half = a.astype(np.float16)
    wrong = Evaluation(plain(np.array([1e-3, 1e-5], np.float16)))
    assert judge(Expected(plain(half), summed=100), wrong)
