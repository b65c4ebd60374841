"""The reference of the first hour against torch, and what its checks say of other answers."""

import ast

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

from autograder.course import Exercise
from solutions.first_hour import dot_scores, full_attention, masked_attention, weighted_sum
from tests.support.course import COURSE
from tests.support.practice import answers_to, checked

T, S, DK, DV = 4, 5, 3, 6


def test_all_steps_give_what_torch_gives():
    random = np.random.default_rng(0)
    query, key, value = (random.normal(size=size) for size in ((T, DK), (S, DK), (S, DV)))
    mask = random.random((T, S)) < 0.5
    mask[:, 0] = True
    tensors = [torch.from_numpy(array) for array in (query, key, value)]
    np.testing.assert_allclose(
        full_attention(query, key, value)[0], scaled_dot_product_attention(*tensors)
    )
    output, weights = masked_attention(query, key, value, mask)
    wanted = scaled_dot_product_attention(*tensors, attn_mask=torch.from_numpy(mask))
    np.testing.assert_allclose(output, wanted)
    assert (weights[~mask] == 0).all()
    np.testing.assert_allclose(weighted_sum(weights[1], value), wanted[1])
    np.testing.assert_allclose(dot_scores(query[1], key), tensors[1] @ tensors[0][1])


SCORES = "scores = query @ key.T / query.shape[1] ** 0.5"
# wrong answers as people write them, each with what has to be told
TOLD = [
    ("dot_scores", ["return tuple(query @ key for key in keys)"], "`np.array(scores)` makes an"),
    ("dot_scores", ["return keys.T @ query"], "multiplied by the columns of `keys`"),
    ("dot_scores", ["s = keys @ query", "query[:] = 0", "return s"], "in query: your code changes"),
    ("weighted_sum", ["return [weights @ entries for entries in values.T]"], "`np.array(entries)`"),
    (
        "weighted_sum",
        ["new = weights @ values", "weights[:] = 0", "return new"],
        "in weights: your code changes",
    ),
    (
        "full_attention",
        ["weights = softmax(query @ key.T / 2)", "return weights @ value, weights"],
        "known mistake: divided by 2.",
    ),
    (
        "full_attention",
        ["key *= query.shape[1] ** -0.5", "w = softmax(query @ key.T)", "return w @ value, w"],
        "in key: your code changes",
    ),
    (
        "masked_attention",
        [SCORES, "w = softmax(np.where(mask, scores, scores.min() - 30))", "return w @ value, w"],
        "0/1 points   gives hidden keys weight exactly 0",
    ),
    (
        "masked_attention",
        [SCORES, "w = softmax(np.where(mask, scores, -1e5))", "return w @ value, w"],
        "Is there a number below every score",
    ),
]
# and right ones in other forms
RIGHT = [
    ("dot_scores", ["return np.array([query @ key for key in keys])"]),
    ("weighted_sum", ["return sum(w * v for w, v in zip(weights, values))"]),
    ("full_attention", [SCORES, "w = softmax(scores)", "return [w @ value, w]"]),
    (
        "masked_attention",
        [SCORES, "w = softmax(np.where(mask, scores, -1e9))", "return w @ value, w"],
    ),
    (
        "masked_attention",
        [SCORES, "w = softmax(np.where(mask, scores, scores.min() - 1000))", "return w @ value, w"],
    ),
]


def test_wrong_answers_are_told_in_words_and_other_forms_pass():
    hour = Exercise(COURSE.root, "first_hour")
    jobs = []
    for task, lines, *_ in [*TOLD, *RIGHT]:
        right = answers_to(hour, task)[""]
        (function,) = ast.parse(right[task]).body
        body = "".join(f"    {line}\n" for line in lines)
        jobs.append((task, {**right, task: f"def {task}({ast.unparse(function.args)}):\n{body}"}))
    done = checked(hour, jobs)
    for (_, lines, words), (printed, result) in zip(TOLD, done, strict=False):
        assert not result["passed"] and words in printed, (lines, printed)
        assert 'Read again: page "Your first hour", "' in printed
    for (_, lines), (printed, result) in zip(RIGHT, done[len(TOLD) :], strict=True):
        assert result["passed"], (lines, printed)
