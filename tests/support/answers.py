"""Whether an answer passes the lines of its own grade cells."""

from collections.abc import Mapping

import numpy as np
import torch

from autograder.catalogue import with_answers
from autograder.course import Exercise
from autograder.exercises import graded_answers, released
from autograder.expected import ExpectedCell
from autograder.reference import namespace_of
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.messages import sentence
from autograder.runtime.plain_data import decode, restore


def same(one, other):
    """Assert that two tensors, arrays or numbers are equal, but for rounding."""
    as_arrays = (
        np.asarray(value.detach() if isinstance(value, torch.Tensor) else value)
        for value in (one, other)
    )
    np.testing.assert_allclose(*as_arrays, rtol=1e-4, atol=1e-5)


def check_answer(
    exercise: Exercise,
    cells: Mapping[str, ExpectedCell],
    answer: str,
    source: str,
    memory: bool = True,
) -> None:
    """Assert that an answer passes all lines of its own grade cells on one draw that nobody sees.

    cells: what the exercise's cells expect on DRAWS, by grade_id; source: the answer with its imports and
    helpers, which takes the reference's place; memory: whether lines count whose memory is measured, which
    fill much of it and so take seconds.
    """
    graded = graded_answers(released(exercise))
    names = {**namespace_of(with_answers(exercise.program(), {answer: source})), "same": same}
    passed = 0
    for grade_id, cell in cells.items():
        for line in cell.lines if answer in graded[grade_id] else ():
            if line.megabytes and not memory:
                continue
            draw = line.draws[-1]
            inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
            given = line.code, names, inputs, draw.parameter_seed, cell.forbidden
            got = Evaluation.read(evaluate(*given, line.megabytes))
            problem = judge(Expected.read(draw.expected), got)
            assert problem is None, f"{line.expression}: {sentence(problem)}"
            passed += 1
    assert passed
