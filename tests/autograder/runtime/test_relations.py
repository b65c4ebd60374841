"""General tests of how a wrong value is related to the right one: what they find, and never find."""

import inspect
import re

import numpy as np
import pytest
import torch

from autograder.runtime import relations
from autograder.runtime.compare import Difference, difference
from autograder.runtime.messages import sentence
from autograder.runtime.relations import related
from tests.support.course import plain

RANDOM = np.random.default_rng(3)
A = RANDOM.standard_normal((3, 4))
SQUARE = RANDOM.standard_normal((4, 4))
WEIGHTS = np.exp(SQUARE) / np.exp(SQUARE).sum(-1, keepdims=True)
MASKED = np.where(np.tri(4, dtype=bool), SQUARE, 0)
BOOLEAN = RANDOM.random((3, 4)) < 0.5
CAUSAL = np.tri(4, dtype=bool)


def found(expected, got, offset=0):
    """The difference of two values, after the general tests."""
    expected, got = plain(expected), plain(got)
    return related(difference(expected, got), expected, got, offset)


# expected, got, aspect, what the sentence begins with
CASES = [
    (A, -A, "negated", "every entry has the wrong sign; all 12 entries differ"),
    (BOOLEAN, ~BOOLEAN, "negated", "True and False are exchanged everywhere"),
    (A, 3 * A, "scale", "every entry is 3 times the expected one; all 12"),
    (A, A + 0.5, "offset", "every entry is 0.5 too large"),
    (
        A,
        A + 3e-6 * SQUARE[:3],
        "digits",
        "correct, but only to 5 digits. Is something computed in float32",
    ),
    (A, np.round(A, 3), "digits", "correct, but only to 3 digits. Is something rounded"),
    (A, A.T, "transposed", "the axes are in a different order: expected (3, 4), got (4, 3)"),
    (SQUARE, SQUARE.T, "transposed", "correct, but with axes 0 and 1 exchanged"),
    (A, A[:, ::-1], "flipped", "correct, but in reverse order along axis 1"),
    (
        A,
        np.roll(A, 1, axis=1),
        "shifted",
        "correct, but shifted by one along axis 1: every entry is one place too late",
    ),
    (
        A,
        np.roll(A, -1, axis=0),
        "shifted",
        "correct, but shifted by one along axis 0: every entry is one place too early",
    ),
    (
        A,
        RANDOM.permutation(A.ravel()).reshape(A.shape),
        "order",
        "the correct numbers, but in a different",
    ),
    (
        A,
        A.reshape(2, 6),
        "reshaped",
        "the correct numbers in the correct order, but in shape (2, 6)",
    ),
    (
        WEIGHTS,
        np.exp(SQUARE) / np.exp(SQUARE).sum(0),
        "axis",
        "the numbers sum to 1 along axis 0; they should sum to 1 along axis 1",
    ),
    (
        MASKED,
        SQUARE,
        "masked",
        "correct except for 6 of 16 entries, all of them masked: they should be exactly 0",
    ),
    (
        np.where(CAUSAL, A[0, 0] + SQUARE, -np.inf),
        A[0, 0] + SQUARE,
        "masked",
        "correct except for 6 of 16 entries, all of them masked: they should be minus infinity",
    ),
    (
        SQUARE,
        np.where(np.arange(4)[:, None] % 3 == 0, SQUARE, SQUARE[::-1] - 1),
        "slices",
        "correct at index 0, 3 along axis 0, incorrect at the others; 8 of 16 entries differ",
    ),
    ([A, A.T], [A.T, A], "exchanged", "the two parts are correct, but exchanged"),
    (
        [A, SQUARE],
        [SQUARE + 1, A],
        "exchanged",
        "the parts have each other's shapes. Are they exch",
    ),
    (
        [A, A.T, SQUARE],
        [A.T, SQUARE, A],
        "exchanged",
        "the parts are correct, but in a different order: in",
    ),
    (0.25, 25.0, "scale", "yours is 100 times the expected one; expected 0.25, got 25"),
]


@pytest.mark.parametrize(("expected", "got", "aspect", "words"), CASES)
def test_a_relation_is_found_and_told(expected, got, aspect, words):
    problem = found(expected, got)
    assert problem.aspect == aspect
    assert sentence(problem).startswith(words)


def test_every_relation_stands_in_the_test_above():
    made = re.findall(r'Difference\("(\w+)"', inspect.getsource(relations))
    assert {case[2] for case in CASES} == set(made)


def test_a_relation_is_found_inside_of_a_nested_value():
    problem = found({"a": [A, SQUARE]}, {"a": [A, 2 * SQUARE]})
    assert problem.aspect == "scale" and problem.place == (("key", "a"), ("part", 2, 2))


def test_tensors_and_added_constants_are_no_hindrance():
    tensor = torch.tensor(A)
    assert found(tensor.float(), -tensor.float()).aspect == "negated"
    assert found(100 + tensor, 100 - tensor, offset=100).aspect == "negated"
    assert found(100 + tensor, 100 + 2 * tensor, offset=100).aspect == "scale"


def random_value(random, shape, kind):
    if kind == "normal":
        return random.standard_normal(shape)
    if kind == "weights":
        weights = np.exp(random.standard_normal(shape))
        return weights / weights.sum(-1, keepdims=True)
    return np.where(random.random(shape) < 0.5, random.standard_normal(shape), 0)


@pytest.mark.parametrize("kind", ["normal", "weights", "sparse"])
def test_values_that_have_nothing_to_do_with_each_other_have_no_relation(kind):
    random = np.random.default_rng(5)
    for _ in range(300):
        shape = tuple(random.integers(2, 6, size=random.integers(1, 4)))
        one, other = (random_value(random, shape, kind) for _ in range(2))
        problem = difference(plain(one), plain(other))
        # a few of the sparse ones are all zero
        assert problem is None or related(problem, plain(one), plain(other)) == problem
        pair = plain([one, other, 0.5]), plain([other + 1, one + 1, 0.25])
        problem = difference(*pair)
        assert related(problem, *pair) == problem


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (np.ones((3, 3)), 2 * np.ones((3, 3))),
        (np.zeros(8), np.ones(8)),
        ([1, 2], [2, 1]),
        (["ValueError", "nothing"], ["nothing", "ValueError"]),
        ([np.zeros(3), np.ones(3)], [np.ones(3), np.zeros(3)]),
        (A, A * np.arange(1, 5)),
        (A, A[:2]),
    ],
)
def test_too_few_numbers_to_be_sure_have_no_relation(expected, got):
    assert found(expected, got).aspect == difference(plain(expected), plain(got)).aspect


def test_other_differences_stay_as_they_are():
    problem = Difference("to_do", {"message": "To do"})
    assert related(problem, plain(A), plain(-A)) is problem
