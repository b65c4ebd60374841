"""The changes of right answers that benchmarks/mutants.py tries."""

import textwrap

import pytest

from benchmarks.mutants import OutOfTime, changed, passes, time_limit

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
    found = list(changed(textwrap.dedent(SOURCE)))
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
    assert any(line in lines_of(text) for text in changed(SOURCE))


def test_a_change_that_never_ends_is_ended():
    with pytest.raises(OutOfTime), time_limit(1):
        while True:
            pass


def test_a_program_that_cannot_run_does_not_pass():
    assert passes("x = 1", [])
    assert not passes("x = undefined", [])
