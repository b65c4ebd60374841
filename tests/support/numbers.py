"""What tests of numerical answers share: a comparison, a mask, a sum with gradients, the lines of an answer."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch

from autograder.audit import lines
from autograder.audit.lines import Line
from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.course import Exercise
from autograder.exercises import graded_answers
from autograder.instructor_settings import Settings


def assert_close(got, wanted, rtol=1e-6, atol=1e-10):
    """Arrays, tensors or numbers, or as many of them in lists or tuples, are the same but for rounding."""
    if isinstance(got, list | tuple):
        for one, other in zip(got, wanted, strict=True):
            assert_close(one, other, rtol, atol)
    else:
        got, wanted = (x.detach() if isinstance(x, torch.Tensor) else x for x in (got, wanted))
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


def a_mask(rng, *shape, empty=False):
    """Random; every row has a True, or the first none if it is to be empty; of several rows, the last is full."""
    mask = rng.random(shape) < 0.5
    mask[..., 0] |= ~mask.any(axis=-1)
    if shape[-2] > 1:
        mask[..., -1, :] = True
    if empty:
        mask[..., 0, :] = False
    return mask


def outcome(function, *inputs, parameters=()):
    """Outputs, and the gradients of a fixed sum of them for the inputs and the parameters."""
    inputs = [x.clone().requires_grad_() for x in inputs]
    outputs = [x for x in function(*inputs) if x is not None]
    total = sum((x * torch.arange(x.numel()).reshape(x.shape).cos()).sum() for x in outputs)
    found = torch.autograd.grad(total, [*inputs, *parameters])
    return [x.detach() for x in (*outputs, *found)]


def lines_of(exercise: Exercise, answer: str, seeds: Iterable[int]) -> Iterator[Line]:
    """The lines of the cells that grade an answer, under each seed."""
    notebook = source_notebook(exercise, Settings())
    graded, cells = graded_answers(notebook), unanswered_cells(notebook)
    own = {grade_id: text for grade_id, text in cells.items() if answer in graded[grade_id]}
    return lines.lines_of(exercise, own, seeds)
