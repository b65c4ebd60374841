"""A right answer keeps its points whatever it rounds: three forms of each numerical answer, many draws."""

import copy
import json

import pytest

from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.exercises import graded_answers
from autograder.instructor_settings import Settings
from autograder.reference import draws_of, expected_value, namespace_of
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.messages import sentence
from tests.solutions.right_forms import FORMS
from tests.support.course import COURSE

ANSWERS = pytest.mark.parametrize(("name", "answer"), FORMS, ids=str)


def lost(name, answer, seeds):
    """The lines that forms of an answer lose, with the seed and the reason."""
    exercise = COURSE.exercise(name)
    notebook, program = source_notebook(exercise, Settings()), exercise.program()
    graded, right = graded_answers(notebook), namespace_of(program)
    forms = FORMS[exercise.name, answer]
    for grade_id, text in unanswered_cells(notebook).items():
        cell = parse_cell(text)
        if answer not in graded[grade_id]:
            continue
        for seed in seeds:
            draw, checks = draws_of(grade_id, cell, [seed], grade_id)
            for check, inputs in checks:
                if check.megabytes is not None:
                    continue
                number = draw.parameter_seed
                # as JSON, as an answer key has it
                wanted = expected_value(grade_id, program, check, copy.deepcopy(inputs), number)
                expected = Expected.read(json.loads(json.dumps(wanted)))
                for place, form in enumerate(forms, start=1):
                    names = {**right, answer: form}
                    given = check.expression, names, copy.deepcopy(inputs), number, cell.forbidden
                    if problem := judge(expected, Evaluation.read(evaluate(*given))):
                        yield f"form {place}, seed {seed}, {check.expression}: {sentence(problem)}"


@ANSWERS
def test_three_forms_of_each_answer_keep_all_points(name, answer):
    assert len(FORMS[name, answer]) >= 3
    assert list(lost(name, answer, range(2))) == []


@pytest.mark.weekly
@ANSWERS
def test_they_do_so_under_many_seeds(name, answer):
    assert list(lost(name, answer, range(200))) == []
