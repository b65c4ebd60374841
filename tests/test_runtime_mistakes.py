"""Fingerprints, and which known mistake explains a cell."""

import numpy as np
import pytest

from autograder.runtime.mistakes import Judged, fingerprint, recognise, same_fingerprint
from tests.conftest import plain


def printed(value):
    return fingerprint(plain(value))


def test_fingerprints_tell_values_apart_and_forgive_rounding():
    values = np.random.RandomState(0).standard_normal((4, 5))
    one = printed(values)
    assert same_fingerprint(one, printed(values * (1 + 1e-9)))
    for other in (values[::-1], values.T, -values, values * (1 + 1e-4), values.tolist()):
        assert not same_fingerprint(one, printed(other))


def test_values_that_are_no_floating_numbers_have_exact_fingerprints():
    for one, other in [
        (3, 4),
        (True, False),
        (True, 1),
        ("a", "b"),
        (None, 0),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"b": 1}),
        (np.arange(3), np.arange(3)[::-1]),
        (np.array([True, False]), np.array([False, True])),
    ]:
        assert same_fingerprint(printed(one), printed(one))
        assert not same_fingerprint(printed(one), printed(other)), (one, other)


@pytest.mark.parametrize("options", [{"threshold": 5}, {"linewidth": 20}, {"legacy": "1.13"}])
def test_a_fingerprint_does_not_depend_on_print_options(options):
    one = np.where(np.arange(1500) % 3 == 0, np.nan, 1.0)
    one[3], other = np.inf, one.copy()
    other[[750, 751]] = other[[751, 750]]
    before = printed(one), printed([1.25, np.arange(3000) / 7])
    with np.printoptions(**options):
        assert (printed(one), printed([1.25, np.arange(3000) / 7])) == before
    assert printed(other)[0] != before[0][0]


def test_an_infinity_is_told_from_nan_and_from_its_negative():
    prints = [printed(np.array([1.0, x])) for x in (np.inf, -np.inf, np.nan)]
    assert len({one[0] for one in prints}) == 3


def line(passed, value, **mistakes):
    return Judged(passed, printed(value), {k: printed(v) for k, v in mistakes.items()})


def test_a_mistake_is_named_only_if_it_explains_every_line():
    both = [line(False, 2.0, a=2.0, b=2.0), line(False, 3.0, a=3.0, b=4.0)]
    assert recognise(both, own="ab", known=()) == "a"
    assert recognise(both[:1], own="ab", known=()) is None
    assert recognise(both[:1], own="ab", known=["b"]) == "b"
    assert recognise(both, own=(), known=["b"]) is None
    assert recognise([*both, line(False, 9.0)], own="ab", known=()) is None
    assert recognise([line(True, 1.0, a=2.0)], own="ab", known=()) is None


def test_a_mistake_that_gives_the_right_value_on_a_line_fits_a_line_that_passed():
    lines = [line(False, 2.0, a=2.0), line(True, 1.0)]
    assert recognise(lines, own="a", known=()) == "a"
    assert recognise([lines[0], line(True, 1.0, a=5.0)], own="a", known=()) is None


def test_a_mistake_that_another_cell_catches_is_named_only_after_that_cell():
    lines = [line(False, 2.0, a=2.0)]
    assert recognise(lines, own=(), known=()) is None
    assert recognise(lines, own=(), known=["a"]) == "a"
