"""Fingerprints, and which known mistake explains a cell."""

import numpy as np
import pytest

from autograder.runtime.mistakes import (
    MOST_NUMBERS,
    Judged,
    Origin,
    Recognition,
    fingerprint,
    fitting,
    is_evidence,
    same_fingerprint,
    says_little,
)
from autograder.runtime.plain_data import Error, Items
from tests.support.course import plain


def printed(value):
    return fingerprint(plain(value))


def test_fingerprints_tell_values_apart_and_forgive_rounding():
    values = np.random.RandomState(0).standard_normal((4, 5))
    one = printed(values)
    assert same_fingerprint(one, printed(values * (1 + 1e-9)))
    for other in (values[::-1], values.T, -values, values * (1 + 1e-4), values.tolist()):
        assert not same_fingerprint(one, printed(other))


def test_what_rounding_leaves_of_zeros_is_no_evidence_against_a_mistake():
    gradients = {"bias": np.array([3e-17]), "weight": np.array([0.25, -1.5])}
    for rest in (0.0, -8e-17, 2e-16):
        assert same_fingerprint(printed(gradients), printed(gradients | {"bias": np.array([rest])}))
    assert not same_fingerprint(printed(gradients), printed(gradients | {"bias": np.array([1e-9])}))


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


def _plain(value):
    """A nested list as a value, with errors in it."""
    if isinstance(value, list) and any(isinstance(item, Error) for item in value):
        return Items(tuple(item if isinstance(item, Error) else plain(item) for item in value))
    return plain(value)


def line(passed, value, **mistakes):
    prints = {name: printed(wrong) for name, wrong in mistakes.items()}
    return Judged(
        passed, printed(value), prints, not passed and says_little(plain(9.5), plain(value))
    )


def told(recognition, grade_id, *lines):
    """What is told at each line, of one draw each: a name, a name with a question mark, or None."""
    named = recognition.cell(grade_id, [[one] for one in lines])
    return [one and one.name + ("?" if one.by_line else "") for one in named]


@pytest.fixture
def recognition():
    """Two cells of `first`, two known mistakes each, and one of `second`, which uses `first`."""
    homes = {name: Origin("first", "one") for name in "ab"}
    homes |= {name: Origin("first", "two") for name in "cd"}
    return Recognition(homes | {"z": Origin("second", "three")})


def test_a_mistake_is_named_if_it_alone_explains_every_line(recognition):
    both = [line(False, 2.1, a=2.1, b=2.1), line(False, 3.1, a=3.1, b=4.1)]
    assert fitting(both) == ["a"] and fitting(both[:1]) == ["a", "b"]
    assert told(recognition, "one", *both) == ["a", None]
    assert told(recognition, "one", *both[:1]) == [None]
    assert told(recognition, "one", line(True, 1.0, a=2.0)) == [None]


def test_a_mistake_that_gives_the_right_value_on_a_line_fits_a_line_that_passed():
    lines = [line(False, 2.1, a=2.1), line(True, 1.0)]
    assert fitting(lines) == ["a"]
    assert fitting([lines[0], line(True, 1.0, a=5.0)]) == []


def test_two_mistakes_that_show_on_different_lines_are_both_told(recognition):
    lines = [
        line(True, 1.0),
        line(False, 2.1, a=2.1, b=2.2),
        line(False, 3.1, a=3.1, b=3.2),
        line(False, 4.1, a=4.2, b=4.1),
        line(False, 5.1, a=5.2, b=5.3),
    ]
    assert told(recognition, "one", *lines) == [None, "a?", None, "b?", None]


def raised(message, at, kind="ValueError"):
    return fingerprint(Error(kind, message, at))


def test_an_exception_is_named_by_its_kind_and_the_code_that_raised_it(recognition):
    """Whatever the message and the names of variables, and whatever other lines show."""
    wrong = {"a": raised("shapes (8, 7) (8,)", "return e / e.sum(axis=axis)")}
    own = "weights = exps / exps.sum(axis=along)"
    for at, name in (
        (own, "a?"),
        (own.replace("sum", "max"), None),
        ("exps / (", None),
        ("", None),
    ):
        one = Judged(False, raised("shapes (2, 3) (2,)", at), wrong, True, False)
        assert told(recognition, "one", one, line(False, 9.9)) == [name, None]
        # it would raise there, too
        assert told(recognition, "one", one, line(False, 9.9, a=5.1)) == [None, None]


def test_what_refuses_something_is_known_whatever_it_says(recognition):
    wrong = {"a": raised("step 1", 'raise ValueError(f"step {step}")')}
    for kind, name in (("ValueError", "a"), ("IndexError", None)):
        own = raised("too small", f'raise {kind}("too small")', kind)
        assert told(recognition, "one", Judged(False, own, wrong, True, False)) == [name]


def test_of_several_mistakes_the_one_that_fits_most_lines_is_told(recognition):
    lines = [
        line(False, 2.1, a=2.1, b=2.1),
        line(False, 3.1, a=3.2, b=3.1),
        line(False, 4.1, a=4.2, b=4.3),
    ]
    assert told(recognition, "one", *lines) == ["b?", None, None]


def test_a_line_waits_for_the_wrong_answers_of_other_cells_that_it_uses(recognition):
    uses_both = line(False, 2.1, z=2.5, a=3.1)
    assert recognition.waits_for("three", [uses_both]) == set()
    told(recognition, "one", line(False, 7.1, a=7.1))
    assert recognition.waits_for("three", [uses_both]) == {"first"}
    assert recognition.waits_for("three", [line(True, 2.1, a=3.1)]) == set()
    assert recognition.waits_for("two", [line(False, 2.1, c=2.1)]) == set()


def test_a_line_on_which_several_known_mistakes_agree_names_none(recognition):
    lines = [line(False, 2.1, a=2.1, b=2.1), line(False, 9.9)]
    assert told(recognition, "one", *lines) == [None, None]


@pytest.mark.parametrize(
    "value",
    [
        Error("ValueError", "no"),
        np.zeros(5),
        np.full((2, 3), np.nan),
        ["nothing"] * 8,
        None,
        0,
        True,
        [1, 2],
        [2.0, {"a": 0.0}],
    ],
)
def test_what_may_come_of_many_mistakes_names_none_by_its_line_alone(recognition, value):
    value = value if isinstance(value, Error) else plain(value)
    assert says_little(plain(9.5), value)
    one = Judged(False, fingerprint(value), {"a": fingerprint(value)}, says_little=True)
    assert told(recognition, "one", one, line(False, 9.9)) == [None, None]
    # where it explains all of the cell it is named
    assert told(recognition, "one", one) == ["a"]


RAISED = Error("ValueError", "no")
MEMORY = Error("Unusable", "your code needs more than 60 MB of memory")


@pytest.mark.parametrize(
    ("expected", "got", "evidence"),
    [
        (np.arange(4) / 3, RAISED, False),
        ([np.arange(4) / 3, 1.5], [np.arange(4) / 3, RAISED], False),
        (["nothing"] * 9, ["nothing", "ValueError"] * 4 + ["nothing"], False),
        ([True, False, 1.5], [False, True, 1.5], False),
        ({"a": True}, {"a": False}, False),
        # what the check provokes
        (np.arange(4) / 3, MEMORY, True),
        (["ValueError", "nothing"], ["nothing", "nothing"], True),
        (["ValueError that names 3 and 4"], ["ValueError that names 4"], True),
        # values, also where something else is no evidence
        (np.arange(4) / 3, np.full(4, np.nan), True),
        (np.tri(4) > 0, np.tri(4) < 1, True),
        ([True, 1.5], [False, 2.5], True),
        (["nothing", 1.5], ["ValueError", 2.5], True),
        ("float64", "float32", True),
    ],
)
def test_an_exception_and_a_bit_are_no_evidence(recognition, expected, got, evidence):
    got = got if isinstance(got, Error) else _plain(got)
    assert is_evidence(plain(expected), got) is evidence
    one = Judged(False, fingerprint(got), {"a": fingerprint(got)}, False, evidence)
    assert told(recognition, "one", one) == ["a" if evidence else None]


def test_results_beside_a_constant_are_told_apart():
    """Two wrong results of hundreds of numbers around 100 have nearly the same sum."""
    random = np.random.RandomState(0)
    prints = [printed(100 + random.standard_normal((5, 7, 10))) for _ in range(200)]
    assert not any(same_fingerprint(prints[0], other) for other in prints[1:])
    values = random.standard_normal((5, 7, 10))
    assert same_fingerprint(printed(100 + values), printed(100 + values + 1e-9))
    assert not same_fingerprint(printed(100 + values), printed(values))


@pytest.mark.parametrize(
    "value",
    [0.3, np.arange(4) / 3, np.tri(3) > 0, ["a", "b"] * 4, {"a": [0.25]}, np.arange(6)],
)
def test_what_hardly_comes_of_another_mistake_says_much(value):
    assert not says_little(plain(9.5), plain(value))
    assert says_little(plain(value), plain(value))


def test_last_digits_say_little():
    right = np.arange(1, 9) / 3
    assert says_little(plain(right), plain(right.astype("float32").astype("float64")))
    assert not says_little(plain(right), plain(1.001 * right))


def test_a_mistake_of_another_cell_is_told_by_line_until_it_was_named_there(recognition):
    lines = [line(False, 2.1, a=2.1)]
    assert told(recognition, "two", *lines) == ["a?"]
    assert told(recognition, "one", line(False, 7.1, a=7.1)) == ["a"]
    assert told(recognition, "two", *lines) == ["a"]
    # what is wrong there is another thing now
    assert told(recognition, "one", line(False, 7.2, a=7.1)) == [None]
    assert told(recognition, "two", *lines) == ["a?"]


def test_what_was_named_before_wins_where_others_fit_as_well(recognition):
    both = line(False, 2.1, a=2.1, c=2.1)
    assert told(recognition, "two", both) == [None]
    assert told(recognition, "one", line(False, 7.1, a=7.1)) == ["a"]
    assert told(recognition, "two", both) == ["a"]


def test_a_mistake_whose_own_cell_has_passed_is_none(recognition):
    both = line(False, 2.1, a=2.1, c=2.1)
    assert told(recognition, "one", line(True, 7.1, a=7.2)) == [None]
    assert told(recognition, "two", both) == ["c"]


def test_what_follows_from_an_unexplained_fault_is_not_named_after_another_answer(recognition):
    """Of two faults with the same values the earlier one is no fault of the later answer."""
    uses_both = line(False, 2.1, z=2.1, a=3.1)
    assert told(recognition, "three", uses_both) == ["z"]
    told(recognition, "one", line(False, 9.9, a=7.1))
    assert recognition.suspects("three", [[uses_both]]) == ["first"]
    assert told(recognition, "three", uses_both) == [None]
    told(recognition, "one", line(False, 7.1, a=7.1))
    assert recognition.suspects("three", [[uses_both]]) == []
    assert told(recognition, "three", uses_both) == ["z"]


def test_of_answers_that_use_one_another_the_first_that_is_wrong_is_suspected():
    names = zip("abc", ("first", "second", "third"), strict=True)
    recognition = Recognition({name: Origin(answer, answer) for name, answer in names})
    told(recognition, "first", line(False, 9.9, a=7.1))
    told(recognition, "second", line(False, 9.8, a=7.1, b=7.2))
    assert recognition.suspects("third", [[line(False, 9.7, a=7.1, b=7.2, c=7.3)]]) == ["first"]
    told(recognition, "first", line(True, 1.0))
    assert recognition.suspects("third", [[line(False, 9.7, a=7.1, b=7.2, c=7.3)]]) == ["second"]


def test_in_one_mode_only_mistakes_are_named_that_speak_of_a_mode():
    homes = {"no mask": Origin("first", "one"), "no mask in training": Origin("first", "one")}
    wrong = {"no mask": printed(2.1), "no mask in training": printed(3.1)}
    judged = [[Judged(False, printed(2.1), wrong)]]
    assert [one.name for one in Recognition(homes).cell("one", judged)] == ["no mask"]
    assert Recognition(homes).cell("one", judged, by_mode=True) == [None]
    judged = [[Judged(False, printed(3.1), wrong)]]
    (named,) = Recognition(homes).cell("one", judged, by_mode=True)
    assert named.name == "no mask in training"


def test_a_fingerprint_of_many_arrays_is_short_and_tells_each_of_them():
    arrays = [np.arange(1, 5) / (n + 3) for n in range(60)]
    whole = printed(arrays)
    assert len(whole) == 1 + MOST_NUMBERS
    for n in range(60):
        changed = [1.001 * one if k == n else one for k, one in enumerate(arrays)]
        assert not same_fingerprint(printed(changed), whole), n
    assert not same_fingerprint(printed(arrays[::-1]), whole)
