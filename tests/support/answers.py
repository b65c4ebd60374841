"""Whether an answer passes the lines of its own grade cells."""

import numpy as np
import torch

from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.catalogue import with_answers
from autograder.exercises import graded_answers
from autograder.instructor_settings import Settings
from autograder.reference import definitions as names_of
from autograder.reference import draws_of, expected_value
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.messages import sentence


def same(one, other):
    """Assert that two tensors, arrays or numbers are equal, but for rounding."""
    as_arrays = (
        np.asarray(value.detach() if isinstance(value, torch.Tensor) else value)
        for value in (one, other)
    )
    np.testing.assert_allclose(*as_arrays, rtol=1e-4, atol=1e-5)


def check_answer(exercise, answer, source):
    """Assert that an answer passes all lines of its own grade cells."""
    notebook = source_notebook(exercise, Settings())
    graded, program = graded_answers(notebook), exercise.program()
    names = {**names_of(with_answers(program, {answer: source})), "same": same}
    passed = 0
    for name, text in unanswered_cells(notebook).items():
        if answer not in graded[name]:
            continue
        cell = parse_cell(text)
        draw, checks = draws_of(name, cell, [7], name)
        for check, inputs in checks:
            seed = draw.parameter_seed
            expected = {
                **expected_value(name, program, check, inputs, seed),
                "mistakes": {},
            }
            limit = check.megabytes
            got = evaluate(check.expression, names, inputs, seed, cell.forbidden, limit)
            problem = judge(Expected.read(expected), Evaluation.read(got))
            assert problem is None, f"{check.expression}: {sentence(problem)}"
            passed += 1
    assert passed
