"""The constant that a line adds: where it stands, and that it makes no near miss right."""

import numpy as np
import pytest

from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation
from autograder.runtime.offsets import added_constant, adds
from tests.support.course import plain

RIGHT = np.random.RandomState(1).standard_normal((3, 4))


@pytest.mark.parametrize(
    ("expression", "place", "constant"),
    [
        ("100 + f(x)", (), 100),
        ("[2 + f(n) for n in ns]", (("part", 3, 4),), 2),
        ("[f(n), 3 + f(n)]", (("part", 2, 2),), 3),
        ("[f(n), 3 + f(n)]", (("part", 1, 2),), 0),
        ("{k: 100 + g for k, g in h()}", (("key", "w"),), 100),
        ("[[dtype_of(t), 100 + t] for t in ts]", (("part", 1, 2), ("part", 2, 2)), 100),
        ("f(100 + x)", (), 0),
        ("[*f(x), 2 + x]", (("part", 2, 2),), 0),
        ("100 + f(x)", (("part", 1, 2), ("part", 2, 2)), 100),
        ("[[n, 2 + f(n)] for n in [3]][0]", (("part", 2, 2),), 2),
    ],
)
def test_the_constant_of_an_expression_is_found(expression, place, constant):
    assert added_constant(expression, place) == constant


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("[[n, 2 + f(n)] for n in ns]", True),
        ("{k: 100 + g for k, g in h().items()}", True),
        ("f(100 + x)", False),
        ("[f(n) for n in (1, V + 1)]", False),
        ("x + f(x)", False),
    ],
)
def test_only_what_is_added_to_a_value_counts(expression, found):
    assert adds(expression) is found


@pytest.mark.parametrize(
    ("dtype", "error", "right"),
    [
        (np.float64, 5e-5, True),
        (np.float64, 5e-3, False),
        (np.float32, 5e-3, False),
    ],
)
@pytest.mark.parametrize("given", [np.float32, np.float64])
def test_a_constant_of_100_leaves_four_digits_after_the_point(dtype, error, right, given):
    """Whatever the data type is: 100 + f(x) with 4 digits of float32 would be 0.01 off."""
    wanted = Expected(plain((100 + RIGHT).astype(dtype)), expression="100 + f(x)")
    got = Evaluation(plain((100 + RIGHT + error).astype(given)))
    assert (judge(wanted, got) is None) is right


def test_each_part_has_its_own_constant():
    expression = "[f(x), 100 + f(x)]"
    parts = [RIGHT, 100 + RIGHT]
    wanted = Expected(plain(parts), expression=expression)
    for number, right in ((0, False), (1, True)):
        near = [part + 5e-5 * (n == number) for n, part in enumerate(parts)]
        assert (judge(wanted, Evaluation(plain(near))) is None) is right
