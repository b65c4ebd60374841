"""Errors that end a command: one class per kind of failure, one line, exit status 2."""

import pytest

from autograder import errors
from autograder.__main__ import main

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and kind is not errors.CourseError
]


@pytest.fixture
def ended(capsys):
    """A function that runs a command which must end with status 2, and returns what it said."""

    def ended(*words):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        assert end.value.code == 2
        return capsys.readouterr().err

    return ended


def test_an_error_ends_a_command_with_one_line(ended):
    said = ended("grade", "--exercise", "ch0_nothing")
    assert said.startswith("Error: There is no exercise 'ch0_nothing'. Known: ch1_")
    assert said.count("\n") == 1


def test_a_kind_of_failure_is_no_other_kind():
    assert len(KINDS) > 5
    for kind in KINDS:
        assert [other for other in KINDS if issubclass(kind, other)] == [kind]
        assert issubclass(kind, errors.CourseError)
