"""Exercise 9: the reference against slow loops, torch and autograd."""

import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

import solutions.ch9_flash_attention as ch9

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 9)
blocks = st.integers(1, 11)
leading = st.sampled_from([(), (2,), (3, 2)])
# scores of about 1, of +-200, and in the thousands
magnitudes = st.sampled_from([1.0, 200.0, 4000.0])
INFINITY = float("inf")


def assert_close(got, wanted, rtol=1e-7):
    got, wanted = (
        [x] if isinstance(x, torch.Tensor | np.ndarray) else list(x) for x in (got, wanted)
    )
    for one, other in zip(got, wanted, strict=True):
        other = np.asarray(other)
        # an entry may be the difference of large terms, or 0 but for rounding
        scale = np.abs(other[np.isfinite(other)]).max(initial=1e-3)
        np.testing.assert_allclose(np.asarray(one), other, rtol=rtol, atol=rtol * scale)


def tensors(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.normal(size=shape)) for shape in shapes]


def visible(T, S, causal):
    """Which key each query may see, one pair at a time: the last query sees all keys."""
    return [[not causal or s <= t + S - T for s in range(S)] for t in range(T)]


def loop_attention(query, key, value, causal):
    """Output and lse of matrices, one number at a time."""
    T, S = len(query), len(key)
    outputs, all_lse = [], []
    for q, row in zip(query.tolist(), visible(T, S, causal), strict=True):
        seen = [s for s in range(S) if row[s]]
        scores = [
            math.fsum(a * b for a, b in zip(q, key[s].tolist(), strict=True)) / math.sqrt(len(q))
            for s in seen
        ]
        if not seen:
            outputs.append([0.0] * value.shape[1])
            all_lse.append(-INFINITY)
            continue
        highest = max(scores)
        total = math.fsum(math.exp(score - highest) for score in scores)
        weights = [math.exp(score - highest) / total for score in scores]
        columns = value[seen].T.tolist()
        outputs.append([math.fsum(w * x for w, x in zip(weights, v, strict=True)) for v in columns])
        all_lse.append(highest + math.log(total))
    return torch.tensor(outputs, dtype=torch.float64), torch.tensor(all_lse, dtype=torch.float64)


def whole_matrix(query, key, value, causal):
    """Output by torch's own function, lse of the whole matrix of scores."""
    T, S = query.shape[-2], key.shape[-2]
    mask = torch.tensor(visible(T, S, causal))
    scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~mask, -INFINITY)
    output = F.scaled_dot_product_attention(query, key, value, mask)
    return output, scores.logsumexp(-1)


@given(sizes, sizes, sizes, sizes, blocks, blocks, st.booleans(), magnitudes, seeds)
def test_forward_equals_the_loop(T, S, d, dv, block_q, block_k, causal, magnitude, seed):
    query, key, value = tensors(seed, (T, d), (S, d), (S, dv))
    case = magnitude * query, key, value
    before = copy.deepcopy(case)
    got = ch9.flash_forward(*case, block_q, block_k, causal=causal)
    assert_close(got, loop_attention(*case, causal))
    torch.testing.assert_close(case, before, rtol=0, atol=0)


@given(leading, sizes, sizes, sizes, sizes, blocks, blocks, st.booleans(), magnitudes, seeds)
def test_forward_equals_torch(lead, T, S, d, dv, block_q, block_k, causal, magnitude, seed):
    query, key, value = tensors(seed, (*lead, T, d), (*lead, S, d), (*lead, S, dv))
    case = magnitude * query, key + magnitude, value
    assert_close(ch9.flash_forward(*case, block_q, block_k, causal), whole_matrix(*case, causal))


@given(leading, sizes, sizes, sizes, sizes, blocks, blocks, st.booleans(), magnitudes, seeds)
def test_backward_equals_autograd(lead, T, S, d, dv, block_q, block_k, causal, magnitude, seed):
    shapes = (*lead, T, d), (*lead, S, d), (*lead, S, dv), (*lead, T, dv)
    query, key, value, grad = tensors(seed, *shapes)
    case = [x.requires_grad_() for x in (magnitude * query, key, value)]
    output, lse = whole_matrix(*case, causal)
    wanted = torch.autograd.grad(output, case, grad)
    given = [x.detach() for x in (*case, output, lse, grad)]
    before = copy.deepcopy(given)
    assert_close(ch9.flash_backward(*given, block_q, block_k, causal), wanted, rtol=1e-6)
    torch.testing.assert_close(given, before, rtol=0, atol=0)


@given(leading, sizes, sizes, sizes, blocks, blocks, st.integers(1, 8), seeds)
def test_parts_of_the_keys_add_up(lead, T, d, dv, block_q, block_k, cut, seed):
    S = cut + 3
    shapes = (*lead, T, d), (*lead, S, d), (*lead, S, dv), (*lead, T, dv)
    query, key, value, grad = tensors(seed, *shapes)
    parts = slice(0, cut), slice(cut, S)
    halves = [
        ch9.flash_forward(query, key[..., part, :], value[..., part, :], block_q, block_k)
        for part in parts
    ]
    output, lse = ch9.merge(*halves)
    assert_close((output, lse), whole_matrix(query, key, value, False))
    whole = ch9.flash_backward(query, key, value, output, lse, grad, block_q, block_k)
    found = [
        ch9.flash_backward(
            query, key[..., p, :], value[..., p, :], output, lse, grad, block_q, block_k
        )
        for p in parts
    ]
    dq, dk, dv_ = zip(*found, strict=True)
    assert_close((sum(dq), torch.cat(dk, -2), torch.cat(dv_, -2)), whole)


@given(leading, sizes, sizes, st.sampled_from([0.0, 3000.0, -3000.0]), seeds)
def test_merge_is_a_sum_of_exponentials(lead, T, dv, shift, seed):
    shapes = (*lead, T, dv), (*lead, T), (*lead, T, dv), (*lead, T)
    a, la, b, lb = tensors(seed, *shapes)
    share = la.exp() / (la.exp() + lb.exp())
    wanted = share[..., None] * a + (1 - share[..., None]) * b, (la.exp() + lb.exp()).log() + shift
    assert_close(ch9.merge((a, la + shift), (b, lb + shift)), wanted, rtol=1e-9)
    nothing = torch.zeros_like(a), torch.full_like(la, -INFINITY)
    assert_close(ch9.merge((a, la), nothing), (a, la))
    assert_close(ch9.merge(nothing, (a, la)), (a, la))
    assert_close(ch9.merge(nothing, nothing), nothing)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_forward_adds_in_float32_at_least(dtype):
    query, key, value = (x.to(dtype) for x in tensors(3, (4, 8), (700, 8), (700, 5)))
    output, lse = ch9.flash_forward(query, key / 8, value, 3, 2)
    exact = whole_matrix(*(x.double() for x in (query, key / 8, value)), False)
    assert output.dtype == dtype
    assert lse.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    np.testing.assert_allclose(lse, exact[1], rtol=1e-5)
    rounding = {torch.float16: 1e-3, torch.bfloat16: 1e-2}.get(dtype, 1e-5)
    np.testing.assert_allclose(output.double(), exact[0], atol=rounding)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_and_linear_attention_keep_the_dtype(dtype):
    query, key, value, grad = (x.to(dtype) for x in tensors(3, (4, 3), (6, 3), (6, 5), (4, 5)))
    output, lse = ch9.flash_forward(query, key, value, 3, 2)
    for x in ch9.flash_backward(query, key, value, output, lse, grad, 3, 2):
        assert x.dtype == dtype
    for x in ch9.linear_attention_chunked(key, key, value, 4):
        assert x.dtype == dtype


@given(sizes, sizes, blocks, blocks, st.booleans())
def test_tiles_equal_the_mask(T, S, block_q, block_k, causal):
    mask = np.array(visible(T, S, causal))
    wanted = []
    for i in range(math.ceil(T / block_q)):
        for j in range(math.ceil(S / block_k)):
            cut = mask[i * block_q : (i + 1) * block_q, j * block_k : (j + 1) * block_k]
            if cut.any():
                wanted.append((i, j, "full" if cut.all() else "edge"))
    assert ch9.tiles(T, S, block_q, block_k, causal) == wanted


class SlowMemory:
    """Counts the numbers that programs load from it and store in it."""

    def __init__(self):
        self.loaded = self.stored = 0

    def load(self, x):
        self.loaded += x.numel()
        return x

    def store(self, x):
        self.stored += x.numel()


@given(sizes, sizes, sizes, sizes, blocks, blocks)
def test_traffic_equals_what_programs_move(T, S, d, dv, block_q, block_k):
    query, key, value = tensors(0, (T, d), (S, d), (S, dv))
    memory = SlowMemory()
    for rows in query.split(block_q):
        memory.load(rows)
        for columns, values in zip(key.split(block_k), value.split(block_k), strict=True):
            memory.load(columns)
            memory.load(values)
        memory.store(torch.zeros(len(rows), dv))
        memory.store(torch.zeros(len(rows)))
    found = ch9.traffic(T, S, d, dv, block_q, block_k, True)
    assert found == {"loaded": memory.loaded, "stored": memory.stored}

    memory = SlowMemory()
    scores = memory.load(query) @ memory.load(key).T
    memory.store(scores)
    weights = memory.load(scores).softmax(-1)
    memory.store(weights)
    memory.store(memory.load(weights) @ memory.load(value))
    found = ch9.traffic(T, S, d, dv, block_q, block_k, False)
    assert found == {"loaded": memory.loaded, "stored": memory.stored}


def a_cache(seed, lengths, page, heads, d, dv, n, extra):
    """Texts, and pages on which their tokens lie in random order; everything else is NaN."""
    rng = np.random.default_rng(seed)
    texts = [tensors(seed + b, (heads, s, d), (heads, s, dv)) for b, s in enumerate(lengths)]
    n_pages = len(lengths) * n + extra
    free = iter(rng.permutation(n_pages).tolist())
    pages = [torch.full((n_pages, heads, page, w), torch.nan, dtype=torch.float64) for w in (d, dv)]
    table = torch.from_numpy(rng.choice([-1, n_pages + 3, 0], size=(len(lengths), n)))
    for b, (key, value) in enumerate(texts):
        for j, start in enumerate(range(0, lengths[b], page)):
            table[b, j] = next(free)
            for where, tokens in zip(pages, (key, value), strict=True):
                cut = tokens[:, start : start + page]
                where[table[b, j], :, : cut.shape[1]] = cut
    return texts, pages, table


@given(st.integers(1, 4), st.integers(1, 4), sizes, sizes, st.integers(1, 3), magnitudes, seeds)
def test_paged_attention_equals_attention_of_each_text(heads, page, d, dv, n, magnitude, seed):
    rng = np.random.default_rng(seed)
    lengths = [0, n * page, *rng.integers(0, n * page + 1, size=3).tolist()]
    texts, pages, table = a_cache(seed % 1000, lengths, page, heads, d, dv, n, extra=2)
    (query,) = tensors(seed, (len(lengths), heads, d))
    given = magnitude * query, *pages, table, torch.tensor(lengths)
    before = copy.deepcopy(given)
    got = ch9.paged_attention(*given)
    for b, (key, value) in enumerate(texts):
        for h in range(heads):
            wanted, _ = loop_attention(given[0][b, h][None], key[h], value[h], False)
            assert_close(got[b, h][None], wanted if lengths[b] else torch.zeros(1, dv))
    for one, other in zip(given, before, strict=True):
        np.testing.assert_array_equal(one, other)


@given(leading, sizes, sizes, sizes, blocks, seeds)
def test_linear_attention_equals_the_recurrence(lead, T, d, dv, chunk, seed):
    query, key, value = tensors(seed, (*lead, T, d), (*lead, T, d), (*lead, T, dv))
    before = copy.deepcopy((query, key, value))
    state = torch.zeros(*lead, d, dv, dtype=torch.float64)
    wanted = torch.zeros(*lead, T, dv, dtype=torch.float64)
    for t in range(T):
        state = state + torch.einsum("...i,...j->...ij", key[..., t, :], value[..., t, :])
        wanted[..., t, :] = torch.einsum("...i,...ij->...j", query[..., t, :], state)
    assert_close(ch9.linear_attention_chunked(query, key, value, chunk), (wanted, state))
    parallel = (query @ key.mT * torch.tensor(visible(T, T, True))) @ value
    assert_close(ch9.linear_attention_chunked(query, key, value, chunk)[0], parallel)
    torch.testing.assert_close((query, key, value), before, rtol=0, atol=0)


def test_the_hand_worked_examples_of_the_notebook():
    three, four = math.log(3), math.log(4)
    one = lambda *numbers: torch.tensor([numbers], dtype=torch.float64)
    found = ch9.merge((one(4, 0), one(0)[0]), (one(8, 4), one(three)[0]))
    assert_close(found, (one(7, 3), one(four)[0]))

    key = torch.cat([one(0, 0, 0, 0), one(three, 0, 0, 0)])
    value = torch.cat([one(4, 0), one(8, 4)])
    for block_k in (1, 2):
        found = ch9.flash_forward(one(2, 0, 0, 0), key, value, 1, block_k)
        assert_close(found, (one(7, 3), one(four)[0]))

    assert ch9.tiles(3, 5, 2, 2, True) == [
        *((0, 0, "full"), (0, 1, "edge")),
        *((1, 0, "full"), (1, 1, "full"), (1, 2, "full")),
    ]
    assert ch9.traffic(3, 4, 2, 1, 2, 3, False) == {"loaded": 42, "stored": 27}
    assert ch9.traffic(3, 4, 2, 1, 2, 3, True) == {"loaded": 30, "stored": 6}

    query, key, value = (
        torch.tensor(x, dtype=torch.float64)[:, None] for x in ((1, 2, 3), (1, 1, 2), (5, 0, 1))
    )
    for chunk in (1, 2, 3):
        output, state = ch9.linear_attention_chunked(query, key, value, chunk)
        assert output.flatten().tolist() == [5, 10, 21] and state.item() == 7
