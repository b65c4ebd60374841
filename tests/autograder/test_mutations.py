"""The changes of right answers that are tried, and the rules that make them."""

import pytest

from autograder.edits import edited
from autograder.mutations import OutOfTime, code, mutations, time_limit

SOURCE = '''
def mean(x, axis=-1):
    """The mean."""
    if x.ndim == 0:
        raise ValueError("no axis")
    return x[..., 1:].sum(axis=axis) / (x.shape[axis] - 1)
'''


def lines_of(text):
    return {line.strip() for line in text.splitlines()}


def test_each_change_is_a_program_of_its_own_that_differs_in_one_place():
    found = [one.text for one in mutations(SOURCE)]
    assert len(found) == len(set(found)) > 20
    right = lines_of("def mean(x, axis=-1):\n" + SOURCE.split('"""\n')[1].replace('"', "'"))
    assert all(len(lines_of(text) - right) <= 1 for text in found)


@pytest.mark.parametrize(
    "line",
    [
        "def mean(x, axis=-2):",
        "if x.ndim != 0:",
        "if False:",
        "pass",
        "return x[..., 1:].sum(axis=axis) * (x.shape[axis] - 1)",
        "return x[..., 1:].sum(axis=axis) / (x.shape[axis] + 1)",
        "return x[..., 1:].sum() / (x.shape[axis] - 1)",
        "return x[..., :].sum(axis=axis) / (x.shape[axis] - 1)",
        "return x[..., 1:-1].sum(axis=axis) / (x.shape[axis] - 1)",
        "return x[..., 1:].sum(axis=axis)",
    ],
)
def test_what_students_get_wrong_is_among_the_changes(line):
    assert any(line in lines_of(one.text) for one in mutations(SOURCE))


def test_a_change_that_never_ends_is_ended():
    with pytest.raises(OutOfTime), time_limit(1):
        while True:
            pass


def test_a_rule_makes_just_this_change_in_whatever_layout():
    laid_out = SOURCE.replace("(axis=axis)", "(\n        axis=axis  # one\n    )")
    found = {one.text: one.rule(laid_out) for one in mutations(laid_out)}
    assert all(code(edited(laid_out, [rule])) == text for text, rule in found.items() if rule)
    rules = {f"{rule.before} -> {rule.after}" for rule in found.values() if rule}
    assert "x.ndim == 0 -> x.ndim != 0" in rules
    # 1 stands twice, so one of them needs more around it
    assert "1 -> 2" not in rules and "x.shape[axis] - 1 -> x.shape[axis] - 2" in rules
