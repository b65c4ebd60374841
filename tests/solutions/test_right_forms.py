"""A right answer keeps its points whatever it rounds: the form of each that rounds most, many draws."""

import pytest

from autograder.reference import namespace_of
from autograder.runtime.messages import sentence
from tests.solutions.right_forms import FORMS
from tests.support.course import COURSE
from tests.support.numbers import lines_of

ANSWERS = pytest.mark.parametrize(("name", "answer"), FORMS, ids=str)


def lost(name, answer, seeds):
    """The lines that forms of an answer lose, with the seed and the reason."""
    exercise = COURSE.exercise(name)
    right = namespace_of(exercise.program())
    for line in lines_of(exercise, answer, seeds):
        for place, form in enumerate(FORMS[name, answer], start=1):
            if problem := line.problem({**right, answer: form}):
                expression = line.check.expression
                yield f"form {place}, seed {line.seed}, {expression}: {sentence(problem)}"


@ANSWERS
def test_forms_of_each_answer_keep_all_points(name, answer):
    assert list(lost(name, answer, range(2))) == []


@ANSWERS
def test_they_do_so_under_many_seeds(name, answer):
    assert list(lost(name, answer, range(200))) == []
