"""Exercise 4: the reference against slow loops and torch, its own small cases."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

import solutions.ch4_masking as ch4
from solutions.ch2_scaled_dot_product import attention
from solutions.ch3_multi_head import MultiHeadAttention, to_torch
from tests.support.numbers import a_mask

distinct_sizes = st.permutations(range(1, 8))
seeds = st.integers(0, 2**31)


def close(one, other):
    torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-12)


def test_the_small_cases_of_the_notebook():
    padding = ch4.padding_mask(torch.tensor([2, 0, 3]), 3)
    assert padding.tolist() == [
        [[[True, True, False]]],
        [[[False, False, False]]],
        [[[True, True, True]]],
    ]
    assert ch4.causal_mask(3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert ch4.causal_mask(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert ch4.causal_mask(3, 2).int().tolist() == [[0, 0], [1, 0], [1, 1]]
    scores, mask = torch.tensor([0, 5, math.log(3)]), torch.tensor([True, False, True])
    close(ch4.masked_softmax(scores, mask), torch.tensor([0.25, 0, 0.75]))
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    assert torch.equal(ch4.leaks(lambda x: x.cumsum(dim=1), x), torch.ones(4, 4).tril() == 1)
    logits = torch.tensor([[[0, 0], [math.log(3), 0], [7, 8]]], dtype=torch.float64)
    loss = ch4.masked_cross_entropy(logits, torch.tensor([[0, 0, 1]]), 1)
    assert loss.item() == pytest.approx((math.log(2) + math.log(4 / 3)) / 2)
    assert round(loss.item(), 4) == 0.4904


@pytest.mark.parametrize("T", range(1, 7))
@pytest.mark.parametrize("S", range(1, 7))
def test_causal_mask_is_the_end_of_a_square_one(T, S):
    mask = ch4.causal_mask(T, S)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[j <= i + S - T for j in range(S)] for i in range(T)]
    assert torch.equal(ch4.causal_mask(T), ch4.causal_mask(T, T))
    if T <= S:
        assert torch.equal(mask, ch4.causal_mask(S)[S - T :])


def test_combine():
    rng = np.random.default_rng(0)
    padding, causal = (torch.from_numpy(a_mask(rng, *shape)) for shape in ((3, 1, 1, 5), (4, 5)))
    before = copy.deepcopy((padding, causal))
    both = ch4.combine(None, padding, causal, None)
    assert both.tolist() == [
        [[[bool(p and c) for p, c in zip(row, line, strict=True)] for line in causal]]
        for row in padding[:, 0, 0]
    ]
    assert ch4.combine() is None and ch4.combine(None, None) is None
    assert torch.equal(ch4.combine(causal), causal)
    torch.testing.assert_close((padding, causal), before)


@given(distinct_sizes, seeds, st.sampled_from([1.0, 6.0, 1e4]), st.booleans())
def test_masked_softmax_equals_a_loop_and_torch(sizes, seed, magnitude, empty):
    torch.manual_seed(seed)
    B, T, S, *_ = sizes
    scores, mask = (
        magnitude * torch.randn(B, T, S, dtype=torch.float64),
        torch.from_numpy(a_mask(np.random.default_rng(seed), B, T, S, empty=empty)),
    )
    before = copy.deepcopy((scores, mask))
    weights = ch4.masked_softmax(scores, mask)
    wanted = torch.zeros_like(scores)
    for place in ((b, t) for b in range(B) for t in range(T)):
        if mask[place].any():
            wanted[place][mask[place]] = torch.softmax(scores[place][mask[place]], dim=0)
    close(weights, wanted)
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close((scores, mask), before, rtol=0, atol=0)
    close(ch4.masked_softmax(scores, None), torch.softmax(scores, dim=-1))


def test_masked_softmax_has_finite_gradients_and_keeps_the_dtype():
    torch.manual_seed(0)
    mask = torch.from_numpy(a_mask(np.random.default_rng(0), 2, 3, 4, empty=True))
    scores = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda scores: ch4.masked_softmax(scores, mask), scores)
    (gradient,) = torch.autograd.grad(
        (ch4.masked_softmax(scores, mask) * torch.randn(2, 3, 4)).sum(), scores
    )
    assert (gradient[~mask] == 0).all() and gradient.isfinite().all() and gradient.any()
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        weights = ch4.masked_softmax(scores.detach().to(dtype), mask)
        assert weights.dtype == dtype and weights.isfinite().all()


@given(distinct_sizes, seeds)
def test_one_mask_through_all_three_conventions(sizes, seed):
    torch.manual_seed(seed)
    B, T, S, H, d, *_ = sizes
    ours = MultiHeadAttention(H * d, H).double()
    theirs = to_torch(ours)
    query, key = (torch.randn(B, n, H * d, dtype=torch.float64) for n in (T, S))
    rng = np.random.default_rng(seed)
    causal, hidden = (torch.from_numpy(a_mask(rng, n, S)) for n in (T, B))
    hidden = ~hidden
    hidden[:, 0], causal[:, 0] = False, True  # no empty row: there torch gives NaN
    mask = ch4.combine(ch4.from_key_padding(hidden), causal)
    output, weights = ours(query, key, key, mask)

    def layer(**masks):
        return theirs(query, key, key, average_attn_weights=False, **masks)

    for found in (
        layer(key_padding_mask=hidden, attn_mask=~causal),
        layer(
            key_padding_mask=ch4.additive(~hidden, torch.float64),
            attn_mask=ch4.additive(causal, torch.float64),
        ),
    ):
        close(found, (output, weights))
    query, key = (torch.randn(B, H, n, d, dtype=torch.float64) for n in (T, S))
    output, _ = attention(query, key, key, mask)
    for one in (mask, ch4.additive(mask, torch.float64)):
        close(F.scaled_dot_product_attention(query, key, key, one), output)


def test_additive():
    mask = torch.tensor([[True, False], [False, False]])
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        wanted = torch.tensor([[0, -math.inf], [-math.inf, -math.inf]], dtype=dtype)
        assert torch.equal(ch4.additive(mask, dtype), wanted)
        assert ch4.additive(mask, dtype).dtype == dtype


@given(distinct_sizes, seeds)
def test_leaks_finds_a_drawn_pattern(sizes, seed):
    torch.manual_seed(seed)
    B, T, D, *_ = sizes
    x, pattern = torch.randn(B, T, D, dtype=torch.float64), torch.rand(T, T) < 0.5
    mixing = pattern * (0.1 + torch.rand(T, T, dtype=torch.float64))
    before = x.clone()
    assert torch.equal(ch4.leaks(lambda x: torch.tanh(mixing @ x), x), pattern)
    assert torch.equal(x, before)


@pytest.mark.parametrize("mode", [True, False])
def test_leaks_sees_what_a_layer_of_torch_may_attend_to(mode):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double()
    layer.train(mode)
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    causal = ch4.causal_mask(5)
    assert torch.equal(ch4.leaks(lambda x: layer(x, src_mask=~causal), x), causal)
    assert ch4.leaks(layer, x).all()


@given(distinct_sizes, seeds)
def test_masked_cross_entropy_equals_a_loop(sizes, seed):
    torch.manual_seed(seed)
    B, T, V, *_ = sizes
    V += 1
    pad = V - 1
    logits, targets = torch.randn(B, T, V, dtype=torch.float64), torch.randint(V, (B, T))
    targets[0, 0] = 0
    logits.requires_grad_()
    losses = [
        torch.logsumexp(logits[b, t], dim=0) - logits[b, t, targets[b, t]]
        for b in range(B)
        for t in range(T)
        if targets[b, t] != pad
    ]
    loss = ch4.masked_cross_entropy(logits, targets, pad)
    close(loss, sum(losses) / len(losses))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert not gradient[targets == pad].any()

    wider = F.pad(logits, (0, 0, 0, 3), value=5.0), F.pad(targets, (0, 3), value=pad)
    close(ch4.masked_cross_entropy(*wider, pad), loss)
    outside = targets.masked_fill(targets == pad, -100)
    close(ch4.masked_cross_entropy(logits, outside, -100), loss)
    unknown = logits.masked_fill((targets == pad)[..., None], torch.nan)
    close(ch4.masked_cross_entropy(unknown, targets, pad), loss)
