"""Exercise 2: the reference against slow loops, torch and SciPy."""

import copy
import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

import solutions.ch2_scaled_dot_product as ch2
from tests.support.numbers import a_mask, assert_close, outcome

distinct_sizes = st.permutations(range(1, 8))
seeds = st.integers(0, 2**32 - 1)
leading_axes = st.integers(0, 3)
magnitudes = st.sampled_from([1.0, 6.0, 1e4])


def a_case(rng, sizes, n_leading, magnitude=1.0):
    """query, key and value with all sizes different."""
    T, S, dk, dv, *rest = sizes
    leading = rest[:n_leading]
    shapes = [(*leading, T, dk), (*leading, S, dk), (*leading, S, dv)]
    query, key, value = (rng.normal(size=shape) for shape in shapes)
    return magnitude * query, key, value


def loop_attention(query, key, value, mask=None):
    """Equation 1, one number at a time."""
    if query.ndim > 2:
        masks = [None] * len(query) if mask is None else mask
        pairs = [loop_attention(*each) for each in zip(query, key, value, masks, strict=True)]
        return [output for output, _ in pairs], [weights for _, weights in pairs]
    outputs, all_weights = [], []
    for t, q in enumerate(query):
        scores = [sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q)) for k in key]
        allowed = [s for s in range(len(key)) if mask is None or mask[t, s]]
        weights = [0.0] * len(key)
        for s in allowed:
            # relative to s, so that nothing overflows: exp(-700) is as good as 0
            differences = [min(scores[other] - scores[s], 700) for other in allowed]
            weights[s] = 1 / sum(math.exp(difference) for difference in differences)
        all_weights.append(weights)
        outputs.append(
            [
                sum(w * v[j] for w, v in zip(weights, value, strict=True))
                for j in range(value.shape[1])
            ]
        )
    return outputs, all_weights


def ready_made(query, key, value, mask=None):
    """Output by torch's own function, weights by the same function with the identity as value."""
    identity = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1)
    function = F.scaled_dot_product_attention
    return function(query, key, value, mask), function(query, key, identity, mask)


@given(distinct_sizes, st.integers(1, 4), st.integers(-4, 3), seeds, magnitudes, st.booleans())
def test_softmax_equals_scipy_and_torch(sizes, ndim, axis, seed, magnitude, integers):
    axis = axis % ndim
    x = magnitude * np.random.default_rng(seed).normal(size=sizes[:ndim])
    x = x.astype(int) if integers else x
    before = x.copy()
    result = ch2.softmax(x, axis=axis)
    np.testing.assert_allclose(result, scipy.special.softmax(x, axis=axis), rtol=1e-6)
    by_torch = torch.softmax(torch.from_numpy(x).double(), dim=axis)
    np.testing.assert_allclose(result, by_torch, rtol=1e-6, atol=1e-300)
    np.testing.assert_array_equal(x, before)


@given(distinct_sizes, st.integers(0, 2), seeds, magnitudes, st.booleans())
def test_numpy_attention_equals_the_loop(sizes, n_leading, seed, magnitude, masked):
    rng = np.random.default_rng(seed)
    case = a_case(rng, sizes, n_leading, magnitude)
    shape = (*case[0].shape[:-1], case[1].shape[-2])
    case = (*case, a_mask(rng, *shape, empty=True) if masked else None)
    before = copy.deepcopy(case)
    output, weights = ch2.attention_numpy(*case)
    wanted = loop_attention(*case)
    assert_close((output, weights), wanted)
    if masked:
        assert (weights[~case[-1]] == 0).all()
    for one, other in zip(case, before, strict=True):
        np.testing.assert_array_equal(one, other)


@given(distinct_sizes, leading_axes, seeds, magnitudes, st.sampled_from(["none", "full", "small"]))
def test_both_attentions_equal_torch(sizes, n_leading, seed, magnitude, kind):
    rng = np.random.default_rng(seed)
    case = a_case(rng, sizes, n_leading, magnitude)
    shape = (*case[0].shape[:-1], case[1].shape[-2])
    small = (*[1] * n_leading, *shape[-2:])
    mask = (
        None if kind == "none" else a_mask(rng, *(shape if kind == "full" else small), empty=True)
    )
    tensors = [torch.from_numpy(x) for x in case]
    mask = None if mask is None else torch.from_numpy(mask)
    before = copy.deepcopy((tensors, mask))
    wanted = outcome(lambda *x: ready_made(*x, mask), *tensors)
    assert_close(outcome(lambda *x: ch2.attention(*x, mask), *tensors), wanted)
    assert_close(ch2.attention_numpy(*case, None if mask is None else mask.numpy()), wanted[:2])
    torch.testing.assert_close((tensors, mask), before, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_torch_attention_keeps_the_dtype(dtype):
    query, key, value = (torch.randn(3, n, 4, dtype=dtype) for n in (2, 5, 5))
    mask = torch.tensor([True, False, True, True, False])
    for result in ch2.attention(query, key, value, mask):
        assert result.dtype == dtype and result.isfinite().all()


@given(distinct_sizes, seeds, st.sampled_from([0.0, 0.3, 1.0, 1e4]))
def test_score_statistics_equal_scipy(sizes, seed, scale):
    m, n, d, *_ = sizes
    rng = np.random.default_rng(seed)
    query, key = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    scores = [[scale * sum(q * k) for k in key] for q in query]
    weights = scipy.special.softmax(scores, axis=1)
    found = ch2.score_statistics(query, key, scale)
    assert found == pytest.approx(
        {
            "variance": np.var(scores),
            "max_weight": np.mean([max(row) for row in weights]),
            "entropy": np.mean([scipy.stats.entropy(row) for row in weights]),
        },
        rel=1e-6,
        abs=1e-12,
    )


@given(distinct_sizes, seeds, st.sampled_from([0.0, 1.0, 3.0]))
def test_jacobian_equals_autograd(sizes, seed, magnitude):
    S, d, *_ = sizes
    rng = np.random.default_rng(seed)
    query, key = magnitude * rng.normal(size=d), rng.normal(size=(S, d))
    keys = torch.from_numpy(key)
    wanted = torch.autograd.functional.jacobian(
        lambda q: F.scaled_dot_product_attention(q[None], keys, keys)[0], torch.from_numpy(query)
    )
    np.testing.assert_allclose(ch2.attention_jacobian(query, key), wanted, rtol=1e-6, atol=1e-12)


def test_the_hand_worked_examples_of_the_notebook():
    logs = np.log([1, 2, 5])
    for shift in (0, 10_000):
        np.testing.assert_allclose(ch2.softmax(shift + logs), [1 / 8, 2 / 8, 5 / 8])

    query, key = np.array([[2.0, 0, 0, 0]]), np.array([[0.0, 0, 0, 0], [math.log(3), 0, 0, 0]])
    case = query, key, np.array([[4.0, 0], [8, 4]])
    assert_close(ch2.attention_numpy(*case), ([[7, 3]], [[1 / 4, 3 / 4]]))
    assert_close(ch2.attention_numpy(*case, np.array([[True, False]])), ([[4, 0]], [[1, 0]]))

    found = ch2.score_statistics(np.array([[2.0]]), np.array([[0.0], [math.log(3)]]), scale=0.5)
    assert found["variance"] == pytest.approx(math.log(3) ** 2 / 4)
    assert found["entropy"] == pytest.approx(math.log(4) / 4 + 3 / 4 * math.log(4 / 3))
    rounded = {name: round(number, 4) for name, number in found.items()}
    assert rounded == {"variance": 0.3017, "max_weight": 0.75, "entropy": 0.5623}

    jacobian = ch2.attention_jacobian(np.zeros(4), np.array([[1.0, 0, 0, 0], [3, 0, 0, 0]]))
    np.testing.assert_allclose(jacobian, np.diag([1 / 2, 0, 0, 0]))
