"""Exercise 1: the reference against slow loops."""

import copy
import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import solutions.ch1_additive_attention as ch1
from tests.support.numbers import a_mask, assert_close, outcome

distinct_sizes = st.permutations(range(1, 8))
seeds = st.integers(0, 2**32 - 1)


def loop_attend(scores, value, mask=None):
    """Weights and context of equations 5 and 6, one number at a time, with any numbers type."""
    contexts, all_weights = [], []
    for b in range(len(scores)):
        allowed = [s for s in range(len(scores[b])) if mask is None or mask[b, s]]
        largest = max(scores[b, s].item() for s in allowed)
        exponentials = [
            math.e ** (scores[b, s] - largest) if s in allowed else 0 * scores[b, s]
            for s in range(len(scores[b]))
        ]
        total = sum(exponentials)
        all_weights.append([e / total for e in exponentials])
        contexts.append(sum(w * row for w, row in zip(all_weights[-1], value[b], strict=True)))
    return contexts, all_weights


def stacked(rows):
    """Nested lists of 0-d tensors as one tensor."""
    return torch.stack([torch.stack(list(row)) for row in rows])


def loop_module(module, query, key, mask=None):
    """AdditiveAttention as a loop over scalars, through which torch can differentiate."""
    w_q, w_k, v = module.w_q.weight, module.w_k.weight, module.v.weight[0]
    scores = stacked(
        [sum(v[a] * torch.tanh(w_q[a] @ q + w_k[a] @ k) for a in range(len(v))) for k in keys]
        for q, keys in zip(query, key, strict=True)
    )
    contexts, weights = loop_attend(scores, key, mask)
    return torch.stack(contexts), stacked(weights)


@given(distinct_sizes, seeds)
def test_scores_equal_the_loop(sizes, seed):
    B, S, Dq, Dk, A, *_ = sizes
    rng = np.random.default_rng(seed)
    query, key = rng.normal(size=(B, Dq)), rng.normal(size=(B, S, Dk))
    w_q, w_k, v = rng.normal(size=(A, Dq)), rng.normal(size=(A, Dk)), rng.normal(size=A)
    wanted = [
        [sum(v[a] * math.tanh(sum(w_q[a] * q) + sum(w_k[a] * k)) for a in range(A)) for k in keys]
        for q, keys in zip(query, key, strict=True)
    ]
    np.testing.assert_allclose(ch1.additive_scores(query, key, w_q, w_k, v), wanted, rtol=1e-6)


@given(distinct_sizes, seeds, st.sampled_from([1.0, 1e4]), st.booleans())
def test_attend_equals_the_loop(sizes, seed, size, masked):
    B, S, Dv, *_ = sizes
    rng = np.random.default_rng(seed)
    scores, value = size * rng.normal(size=(B, S)), rng.normal(size=(B, S, Dv))
    mask = a_mask(rng, B, S) if masked else None
    before = copy.deepcopy((scores, value, mask))
    context, weights = ch1.attend(scores, value, mask)
    assert_close((context, weights), loop_attend(scores, value, mask))
    for one, other in zip((scores, value, mask), before, strict=True):
        np.testing.assert_array_equal(one, other)
    if masked:
        assert (weights[~mask] == 0).all()


@given(distinct_sizes, seeds, st.booleans())
def test_module_equals_the_loop_and_numpy(sizes, seed, masked):
    B, S, Dq, Dk, A, *_ = sizes
    rng = np.random.default_rng(seed)
    module = ch1.AdditiveAttention(Dq, Dk, A).double()
    query, key = rng.normal(size=(B, Dq)), rng.normal(size=(B, S, Dk))
    mask = a_mask(rng, B, S) if masked else None
    w_q, w_k, v = (layer.weight.detach().numpy() for layer in (module.w_q, module.w_k, module.v))
    by_numpy = ch1.attend(ch1.additive_scores(query, key, w_q, w_k, v[0]), key, mask)
    inputs, parameters = (torch.from_numpy(query), torch.from_numpy(key)), [*module.parameters()]
    mask = torch.from_numpy(mask) if masked else None
    fast = outcome(lambda q, k: module(q, k, mask), *inputs, parameters=parameters)
    assert_close(fast[:2], by_numpy)
    slow = outcome(lambda q, k: loop_module(module, q, k, mask), *inputs, parameters=parameters)
    assert_close(fast, slow)


@given(distinct_sizes, seeds, st.booleans())
def test_decoder_step_equals_the_loop(sizes, seed, masked):
    B, S, E, H, Dk, A, *_ = sizes
    rng = np.random.default_rng(seed)
    step = ch1.AttentionDecoderStep(E, H, Dk, A).double()
    shapes = [(B, E), (B, H), (B, S, Dk)]
    inputs = [torch.from_numpy(rng.normal(size=shape)) for shape in shapes]
    mask = torch.from_numpy(a_mask(rng, B, S)) if masked else None

    def slow(embedded, state, key):
        context, weights = loop_module(step.attention, state, key, mask)
        return step.cell(torch.cat([embedded, context], dim=1), state), context, weights

    parameters = list(step.parameters())
    fast = outcome(lambda *inputs: step(*inputs, mask), *inputs, parameters=parameters)
    assert_close(fast, outcome(slow, *inputs, parameters=parameters))


def test_shapes_names_and_no_bias():
    step = ch1.AttentionDecoderStep(3, 4, 5, 6)
    assert {name: tuple(p.shape) for name, p in step.attention.named_parameters()} == {
        "w_q.weight": (6, 4),
        "w_k.weight": (6, 5),
        "v.weight": (1, 6),
    }
    assert isinstance(step.cell, nn.GRUCell)
    assert step.cell.input_size == 3 + 5


def test_without_keys_in_the_scores_no_layer_learns():
    """What the written answer claims."""
    module = ch1.AdditiveAttention(2, 3, 4).double()
    query, key = torch.randn(3, 2).double(), torch.randn(3, 5, 3).double()
    hidden = torch.tanh(module.w_q(query))[:, None].expand(-1, 5, -1)
    weights = module.v(hidden).squeeze(-1).softmax(-1)
    (weights[..., None] * key).sum().backward()
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / 5))
    for layer in (module.w_q, module.v):
        assert layer.weight.grad.abs().max() < 1e-15
    assert module.w_k.weight.grad is None


def test_the_hand_worked_examples_of_the_notebook():
    query, key = np.array([[1.0, 2.0]]), np.array([[[-1.0], [0.0]]])
    scores = ch1.additive_scores(
        query, key, np.eye(2), np.array([[1.0], [2.0]]), np.array([1.0, -1.0])
    )
    np.testing.assert_allclose(scores, [[0, math.tanh(1) - math.tanh(2)]])
    assert round(scores[0, 1], 4) == -0.2024
    scores, value = np.array([[0, math.log(3)]]), np.array([[[4.0, 0.0], [8.0, 4.0]]])
    assert_close(ch1.attend(scores, value), ([[7, 3]], [[1 / 4, 3 / 4]]))
    assert_close(ch1.attend(scores, value, np.array([[True, False]])), ([[4, 0]], [[1, 0]]))
