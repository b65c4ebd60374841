"""Exercise 8: the reference against slow loops, exact enumeration and torch."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

import solutions.ch8_language_model as ch8
from solutions.ch5_positional_encoding import rope
from tests.support import numbers

seeds = st.integers(0, 2**32 - 1)


assert_close = functools.partial(numbers.assert_close, rtol=1e-9, atol=1e-11)


def tensor(rng, *shape, scale=1.0):
    return torch.from_numpy(rng.normal(0, scale, size=shape))


# token_probabilities ----------------------------------------------------------------------------


def loop_probabilities(row, temperature, top_k, top_p):
    """One row, token by token, as the statement has it."""
    ranking = sorted(range(len(row)), key=lambda v: (-row[v], v))
    largest = row[ranking[0]]
    if temperature == 0:
        return [float(v == ranking[0]) for v in range(len(row))]
    mass = {v: math.exp((row[v] - largest) / temperature) for v in ranking}
    kept = ranking[:top_k]
    if top_p is not None:
        total, count, found = math.fsum(mass[v] for v in kept), 0, 0.0
        while count == 0 or (found < top_p * total and count < len(kept)):
            found += mass[kept[count]]
            count += 1
        kept = kept[:count]
    total = math.fsum(mass[v] for v in kept)
    return [mass[v] / total if v in kept else 0.0 for v in range(len(row))]


@given(
    st.integers(0, 2),
    st.integers(1, 12),
    st.sampled_from([0, 0.0, 0.3, 1.0, 2.5]),
    st.sampled_from([None, 1, 2, 5, 12, 40]),
    st.sampled_from([None, 0.001, 0.37, 0.83, 0.999, 1.0]),
    st.sampled_from([1.0, 200.0]),
    st.booleans(),
    seeds,
)
def test_probabilities_equal_the_loop(axes, V, temperature, top_k, top_p, scale, ties, seed):
    rng = np.random.default_rng(seed)
    logits = tensor(rng, *(2, 3)[:axes], V, scale=scale)
    if ties:
        logits = logits.round()
    if V > 2:
        logits[..., rng.integers(V)] = -torch.inf
    before = logits.clone()
    got = ch8.token_probabilities(logits, temperature, top_k, top_p)
    rows = logits.reshape(-1, V).tolist()
    wanted = [loop_probabilities(row, temperature, top_k, top_p) for row in rows]
    assert got.shape == logits.shape and got.dtype == torch.float64
    assert_close(got.reshape(-1, V), wanted)
    assert torch.equal(logits, before)


def test_probabilities_are_the_softmax_of_torch_and_keep_its_gradient():
    logits = torch.randn(2, 3, 7, dtype=torch.float64, requires_grad=True)
    assert_close(
        ch8.token_probabilities(logits, 0.7).detach(), F.softmax(logits / 0.7, dim=-1).detach()
    )
    assert torch.autograd.gradcheck(lambda x: ch8.token_probabilities(x, 0.7, 3), logits)


def test_half_precision_is_computed_in_float32():
    logits = (torch.randperm(4000) / 512).to(torch.bfloat16)
    for dtype in (torch.bfloat16, torch.float16):
        got = ch8.token_probabilities(logits.to(dtype), 1.2, 3000, 0.9)
        assert got.dtype == torch.float32
        wanted = ch8.token_probabilities(logits.to(dtype).float(), 1.2, 3000, 0.9)
        assert torch.equal(got, wanted)
    assert ch8.token_probabilities(logits.float()).dtype == torch.float32


@pytest.mark.parametrize(
    "arguments",
    [(-0.1, None, None), (1.0, 0, None), (0.0, -2, None), (1.0, None, 0.0), (0, 3, 1.01)],
)
def test_what_cannot_be_meant_is_refused(arguments):
    with pytest.raises(ValueError, match=str(next(x for x in arguments[::-1] if x is not None))):
        ch8.token_probabilities(torch.zeros(3), *arguments)


# window_mask ------------------------------------------------------------------------------------


@given(st.integers(0, 6), st.integers(0, 9), st.integers(1, 14), st.integers(0, 14))
def test_window_mask_equals_the_loop(T, older, window, sinks):
    S = T + older
    wanted = np.zeros((T, S), dtype=bool)
    for t in range(T):
        p = S - T + t
        visible = {*range(p - window + 1, p + 1), *range(sinks)}
        for s in range(S):
            wanted[t, s] = s in visible and s <= p
    mask = ch8.window_mask(T, S, window, sinks)
    assert mask.dtype == torch.bool
    assert (mask.numpy() == wanted).all()


@pytest.mark.parametrize("sizes", [(3, 2, 1, 0), (2, 3, 0, 0), (2, 3, 1, -1)])
def test_impossible_masks_are_refused(sizes):
    with pytest.raises(ValueError, match="no such mask"):
        ch8.window_mask(*sizes)


# RollingCache -----------------------------------------------------------------------------------


@given(
    st.integers(0, 4),
    st.integers(1, 6),
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=6), min_size=1, max_size=3),
    seeds,
)
def test_the_cache_gives_what_the_rule_says(sinks, window, texts, seed):
    rng = np.random.default_rng(seed)
    cache = ch8.RollingCache(sinks, window)
    results = []
    for number, lengths in enumerate(texts):
        n, B = sum(lengths), 1 + number % 2
        key, value = tensor(rng, B, 2, n, 3), tensor(rng, B, 2, n, 5)
        begin = 0
        for length in lengths:
            end = begin + length
            piece = key[:, :, begin:end], value[:, :, begin:end], torch.arange(begin, end)
            chosen = [s for s in range(end) if s < sinks or s > begin - window]
            wanted = key[:, :, chosen], value[:, :, chosen], torch.tensor(chosen)
            results.append((cache.update(*(x.clone() for x in piece)), wanted))
            begin = end
    for got, wanted in results:
        assert all(torch.equal(*pair) for pair in zip(got, wanted, strict=True))


@pytest.mark.parametrize(("sinks", "window"), [(0, 1), (0, 4), (2, 3), (3, 1)])
def test_attention_through_the_cache_is_attention_with_the_mask(sinks, window):
    rng = np.random.default_rng(0)
    n = 23
    query, key = tensor(rng, 2, 3, n, 6), tensor(rng, 2, 3, n, 6)
    value = tensor(rng, 2, 3, n, 5)
    positions = torch.arange(n)
    wanted = F.scaled_dot_product_attention(
        rope(query, positions),
        rope(key, positions),
        value,
        attn_mask=ch8.window_mask(n, n, window, sinks),
    )
    cache, begin = ch8.RollingCache(sinks, window), 0
    for length in (1, 1, 7, 2, 1, 1, 9, 1):
        piece = slice(begin, begin + length)
        own = positions[piece]
        found_key, found_value, found = cache.update(key[:, :, piece], value[:, :, piece], own)
        # the mask of the whole text, for the keys that came back
        mask = ch8.window_mask(length, begin + length, window, sinks)[:, found]
        got = F.scaled_dot_product_attention(
            rope(query[:, :, piece], own), rope(found_key, found), found_value, attn_mask=mask
        )
        assert_close(got, wanted[:, :, piece])
        begin += length


def test_the_cache_holds_what_a_later_call_can_return():
    cache, n = ch8.RollingCache(2, 5), 300
    key = torch.randn(1, 2, n, 3)
    cache.update(key, key, torch.arange(n))
    assert cache.held[2].tolist() == [0, 1, 296, 297, 298, 299]
    assert [x.untyped_storage().nbytes() for x in cache.held[:2]] == [6 * 6 * 4] * 2


# cache_bytes ------------------------------------------------------------------------------------


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 8),
    st.integers(1, 12),
    st.integers(1, 3),
    st.sampled_from([torch.float32, torch.bfloat16, torch.int8]),
    st.sampled_from([None, 1, 5, 40]),
)
def test_bytes_are_those_of_real_tensors(layers, heads, width, tokens, batch, dtype, window):
    caches = [ch8.RollingCache(0, window + 1 if window else tokens + 1) for _ in range(layers)]
    key = torch.zeros(batch, heads, tokens, width, dtype=dtype)
    for cache in caches:
        cache.update(key, key, torch.arange(tokens))
    wanted = sum(x.numel() * x.element_size() for cache in caches for x in cache.held[:2])
    found = ch8.cache_bytes(
        layers, heads, width, tokens, batch=batch, bytes_per_value=dtype.itemsize, window=window
    )
    assert found == wanted and type(found) is int


def test_bytes_of_published_models():
    assert ch8.cache_bytes(32, 32, 128, 1) == 524_288
    assert ch8.cache_bytes(32, 8, 128, 1) == 131_072
    assert ch8.cache_bytes(61, 128, 128, 1, latent=512 + 64) == 70_272
    assert ch8.cache_bytes(61, 128, 128, 1000, latent=576, window=10, batch=3) == 30 * 70_272


# latent_attention -------------------------------------------------------------------------------


def drawn_latent(rng, scale=1.0):
    B, H, T, S, dn, dr, r, dv = (int(n) for n in 2 + rng.permutation(8))
    return [
        tensor(rng, B, H, T, dn, scale=scale),
        tensor(rng, B, H, T, dr, scale=scale),
        tensor(rng, B, S, r),
        tensor(rng, B, S, dr),
        tensor(rng, H, dn, r),
        tensor(rng, H, dv, r),
    ], torch.from_numpy(rng.random((B, H, T, S)) < 0.5)


def loop_latent(query, rope_query, latent, rope_key, w_uk, w_uv, mask):
    """Head by head and query by query, with keys and values unpacked."""
    B, H, T, dn = query.shape
    output = torch.zeros(B, H, T, w_uv.shape[1], dtype=torch.float64)
    for b, h, t in np.ndindex(B, H, T):
        seen = [s for s in range(latent.shape[1]) if mask[b, h, t, s]]
        scores = [
            query[b, h, t] @ (w_uk[h] @ latent[b, s]) + rope_query[b, h, t] @ rope_key[b, s]
            for s in seen
        ]
        scores = [float(score) / math.sqrt(dn + rope_query.shape[-1]) for score in scores]
        weights = [math.exp(score - max(scores)) for score in scores]
        for s, weight in zip(seen, weights, strict=True):
            output[b, h, t] += weight / sum(weights) * (w_uv[h] @ latent[b, s])
    return output


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("seed", range(4))
def test_latent_attention_equals_the_loop(seed, scale):
    inputs, mask = drawn_latent(np.random.default_rng(seed), scale)
    mask[0, 0, 0] = False
    before = [x.clone() for x in inputs]
    got = ch8.latent_attention(*inputs, mask)
    assert_close(got, loop_latent(*inputs, mask))
    assert (got[0, 0, 0] == 0).all()
    assert_close(ch8.latent_attention(*inputs), loop_latent(*inputs, torch.ones_like(mask)))
    assert all(torch.equal(*pair) for pair in zip(inputs, before, strict=True))


def torch_latent(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    """Keys and values unpacked, with torch's own attention."""
    key = torch.einsum("bsr,hnr->bhsn", latent, w_uk)
    value = torch.einsum("bsr,hvr->bhsv", latent, w_uv)
    shared = rope_key[:, None].expand(-1, key.shape[1], -1, -1)
    return F.scaled_dot_product_attention(
        torch.cat([query, rope_query], -1), torch.cat([key, shared], -1), value, attn_mask=mask
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1.0, 200.0])
def test_latent_attention_has_the_gradients_of_unpacked_attention(seed, scale):
    inputs, mask = drawn_latent(np.random.default_rng(seed), scale)
    mask[0, 0, 0] = False
    inputs = [x.requires_grad_() for x in inputs]
    found = []
    for function in (ch8.latent_attention, torch_latent):
        output = function(*inputs, mask)
        weights = torch.cos(torch.arange(output.numel(), dtype=torch.float64))
        found.append(torch.autograd.grad((output * weights.reshape(output.shape)).sum(), inputs))
    for got, wanted in zip(*found, strict=True):
        assert_close(got, wanted, rtol=1e-6, atol=1e-7)


def test_latent_attention_keeps_the_data_type_and_takes_masks_that_broadcast():
    inputs, mask = drawn_latent(np.random.default_rng(5))
    for small in (mask[:, :1], mask[:1, :1, :1], mask[0, 0]):
        wanted = loop_latent(*inputs, small.expand_as(mask))
        assert_close(ch8.latent_attention(*inputs, small), wanted)
    single = ch8.latent_attention(*(x.float() for x in inputs), mask)
    assert single.dtype == torch.float32
    assert_close(single, loop_latent(*inputs, mask), rtol=1e-3, atol=1e-4)


# rope_frequencies -------------------------------------------------------------------------------


def loop_frequency(i, d, base, factor, length, method):
    theta = base ** (-2 * i / d)
    if method == "linear":
        return theta / factor
    if method == "ntk":
        # slowed down evenly in the exponent, from not at all to factor
        return theta * factor ** (-i / (d / 2 - 1))
    wavelength = 2 * math.pi / theta
    if wavelength > length:
        return theta / factor
    if wavelength < length / 32:
        return theta
    share = (length / wavelength - 1) / 31
    return share * theta + (1 - share) * theta / factor


@given(
    st.integers(2, 40),
    st.sampled_from([10000.0, 500000.0, 77.0]),
    st.sampled_from([1.0, 1.5, 8.0]),
    st.sampled_from([64, 500, 2048, 8192]),
    st.sampled_from(["linear", "ntk", "yarn"]),
)
def test_frequencies_equal_the_loop(half, base, factor, length, method):
    got = ch8.rope_frequencies(2 * half, base, factor, length, method)
    wanted = [loop_frequency(i, 2 * half, base, factor, length, method) for i in range(half)]
    assert_close(got, wanted)


def test_the_ends_of_the_three_methods():
    old = ch8.rope_frequencies(64, 10000.0, 1.0, 2048, "linear")
    linear, ntk, yarn = (
        ch8.rope_frequencies(64, 10000.0, 4.0, 2048, method) for method in ("linear", "ntk", "yarn")
    )
    assert_close(linear, old / 4)
    for new in (ntk, yarn):
        assert_close(new[[0, -1]], [old[0], old[-1] / 4])
    # the frequencies of exercise 5
    x = torch.randn(1, 64, dtype=torch.float64)
    turned = rope(x, torch.tensor([1]))
    angles = torch.view_as_complex(turned.reshape(32, 2)) / torch.view_as_complex(x.reshape(32, 2))
    assert_close(angles.angle(), old)


def test_other_methods_are_refused():
    with pytest.raises(ValueError, match="dynamic"):
        ch8.rope_frequencies(8, 100.0, 2.0, 64, "dynamic")


# speculative_step -------------------------------------------------------------------------------


def loop_step(draft, p_draft, p_target, uniforms):
    """The rule in fractions, which don't round."""

    def drawn(weights, u):
        total, reached = sum(weights), Fraction(0)
        for token, weight in enumerate(weights):
            reached += weight / total
            if u < reached:
                return token
        raise AssertionError("nothing to draw from")

    found = []
    for i, guess in enumerate(draft):
        if uniforms[2 * i] < p_target[i][guess] / p_draft[i][guess]:
            found.append(guess)
            continue
        residual = [max(p - q, Fraction(0)) for p, q in zip(p_target[i], p_draft[i], strict=True)]
        return [*found, drawn(residual, uniforms[2 * i + 1])]
    return [*found, drawn(p_target[-1], uniforms[-1])]


def fractions(rng, n, V, zeros=False):
    weights = rng.integers(0 if zeros else 1, 30, size=(n, V))
    weights[:, 1] += 1
    return [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]


def as_floats(rows, V):
    return torch.tensor([[float(x) for x in row] for row in rows], dtype=torch.float64).reshape(
        len(rows), V
    )


@given(st.integers(0, 5), st.integers(2, 9), st.booleans(), seeds)
def test_a_step_equals_the_rule_in_fractions(n, V, zeros, seed):
    rng = np.random.default_rng(seed)
    q, p = fractions(rng, n, V), fractions(rng, n + 1, V, zeros)
    for _ in range(10):
        draft = [int(x) for x in rng.integers(V, size=n)]
        # primes apart from the denominators, so that no number lies on a limit
        u = [Fraction(int(x), 1000003) for x in rng.integers(1000003, size=2 * n + 2)]
        got = ch8.speculative_step(
            torch.tensor(draft, dtype=torch.int64),
            as_floats(q, V),
            as_floats(p, V),
            torch.tensor([float(x) for x in u], dtype=torch.float64),
        )
        assert got.dtype == torch.int64
        assert got.tolist() == loop_step(draft, q, p, u)


@functools.cache
def quarters(model, before):
    """A row of three probabilities in quarters, which depends on the tokens before."""
    rng = np.random.default_rng([len(model), *before, 11])
    return [Fraction(int(x), 4) for x in rng.multinomial(4, [1 / 3] * 3)]


def test_the_text_has_exactly_the_distribution_of_the_target():
    """All guesses and all uniform numbers are gone through, on a grid that meets every limit."""
    n, V, steps = 2, 3, 12
    # ratios and residuals of quarters have denominators up to 4, so every limit is a multiple of 1/12
    grid = [(j + 0.5) / steps for j in range(steps)]
    found = dict.fromkeys(itertools.product(range(V), repeat=n + 1), Fraction(0))
    lengths = set()
    for draft in itertools.product(range(V), repeat=n):
        rows = [quarters("draft", draft[:i]) for i in range(n)]
        share = math.prod((rows[i][draft[i]] for i in range(n)), start=Fraction(1))
        if share == 0:
            continue
        p_draft = as_floats(rows, V)
        p_target = as_floats([quarters("target", draft[:i]) for i in range(n + 1)], V)
        for *judge, draw in itertools.product(grid, repeat=n + 1):
            # the same number draws, whichever place it comes to: there is one draw only
            u = torch.tensor([x for one in (*judge, 0.5) for x in (one, draw)]).double()
            text = ch8.speculative_step(torch.tensor(draft), p_draft, p_target, u).tolist()
            lengths.add(len(text))
            # what is still missing is written by the target
            for rest in itertools.product(range(V), repeat=n + 1 - len(text)):
                whole = (*text, *rest)
                later = [quarters("target", whole[:i])[whole[i]] for i in range(len(text), n + 1)]
                found[whole] += math.prod(later, start=share / steps ** (n + 1))
    assert lengths == {1, 2, 3}
    for text, share in found.items():
        assert share == math.prod(quarters("target", text[:i])[text[i]] for i in range(n + 1))


# The notebook -----------------------------------------------------------------------------------


def test_the_small_cases_of_the_notebook():
    logits = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64).log()
    assert_close(ch8.token_probabilities(logits), [1 / 8, 2 / 8, 5 / 8])
    assert_close(ch8.token_probabilities(logits, top_k=2), [0, 2 / 7, 5 / 7])
    assert_close(ch8.token_probabilities(logits, top_p=0.7), [0, 2 / 7, 5 / 7])
    assert ch8.token_probabilities(logits, 1.0, 2, 0.7).tolist() == [0, 0, 1]
    mask = ch8.window_mask(2, 5, window=2, sinks=1)
    assert mask.int().tolist() == [[1, 0, 1, 1, 0], [1, 0, 0, 1, 1]]
    cache, found = ch8.RollingCache(sinks=1, window=2), []
    for begin, end in [(0, 4), (4, 6), (6, 7)]:
        key = torch.zeros(1, 1, end - begin, 1)
        found.append(cache.update(key, key, torch.arange(begin, end))[2].tolist())
    assert found == [[0, 1, 2, 3], [0, 3, 4, 5], [0, 5, 6]]
    for method, wanted in [
        ("linear", [0.25, 0.025]),
        ("ntk", [1, 0.025]),
        ("yarn", [0.6109, 0.0264]),
    ]:
        assert_close(ch8.rope_frequencies(4, 100.0, 4.0, 100, method), wanted, atol=5e-5)
    rows = torch.tensor([[0.8, 0.2]]), torch.tensor([[0.4, 0.6], [0.5, 0.5]])
    for uniforms, wanted in [((0.7, 0.9, 0.3, 0.1), [1]), ((0.2, 0.9, 0.3, 0.1), [0, 0])]:
        step = ch8.speculative_step(torch.tensor([0]), *rows, torch.tensor(uniforms))
        assert step.tolist() == wanted
