"""What tests of numerical answers share: one comparison, one sum with gradients, one loop over lines."""

import copy
import json
from collections.abc import Iterable, Iterator

import numpy as np
import torch

from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.course import Exercise
from autograder.exercises import graded_answers
from autograder.instructor_settings import Settings
from autograder.reference import draws_of, expected_value, namespace_of
from autograder.runtime.compare import Difference, Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import parse_cell


def assert_close(got, wanted, rtol=1e-6, atol=1e-10):
    """Arrays, tensors or numbers, or as many of them in lists or tuples, are the same but for rounding."""
    if isinstance(got, list | tuple):
        for one, other in zip(got, wanted, strict=True):
            assert_close(one, other, rtol, atol)
    else:
        got, wanted = (x.detach() if isinstance(x, torch.Tensor) else x for x in (got, wanted))
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


def outcome(function, *inputs, parameters=()):
    """Outputs, and the gradients of a fixed sum of them for the inputs and the parameters."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    outputs = [x for x in function(*inputs) if x is not None]
    total = sum((x * torch.arange(x.numel()).reshape(x.shape).cos()).sum() for x in outputs)
    found = torch.autograd.grad(total, [*inputs, *parameters])
    return [x.detach() for x in (*outputs, *found)]


class Line:
    """A line of a grade cell on one draw: what it asks, and what is right.

    Lines that train something or measure memory aren't among them.
    """

    def __init__(self, grade_id, program, check, inputs, number, forbidden):
        self.expression, self.code = check.expression, check.code
        self.inputs, self.number = inputs, number
        self.forbidden = forbidden
        wanted = expected_value(grade_id, program, check, copy.deepcopy(inputs), number)
        # as JSON, as an answer key has it
        self._expected = Expected.read(json.loads(json.dumps(wanted)))

    def problem(self, names: dict) -> Difference | None:
        """What is wrong with an answer among these names; None if nothing is."""
        given = self.code, names, copy.deepcopy(self.inputs), self.number, self.forbidden
        return judge(self._expected, Evaluation.read(evaluate(*given)))


def lines_of(exercise: Exercise, answer: str, seeds: Iterable[int]) -> Iterator[tuple[int, Line]]:
    """The lines of the cells that grade an answer, each with its seed."""
    notebook, program = source_notebook(exercise, Settings()), exercise.program()
    namespace_of(program)
    graded = graded_answers(notebook)
    for grade_id, text in unanswered_cells(notebook).items():
        if answer not in graded[grade_id]:
            continue
        cell = parse_cell(text)
        for seed in seeds:
            draw, checks = draws_of(grade_id, cell, [seed], grade_id)
            for check, inputs in checks:
                if not check.agreement and check.megabytes is None:
                    given = check, inputs, draw.parameter_seed, cell.forbidden
                    yield seed, Line(grade_id, program, *given)
