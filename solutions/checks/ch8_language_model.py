"""What the checks of exercise 8 draw and return. The grader knows what is right."""

import numpy as np
import torch

from autograder.checks import Draw, dtype_of, gradients, inputs_after, raised
from solutions.ch8_language_model import (
    RollingCache,
    cache_bytes,
    latent_attention,
    rope_frequencies,
    speculative_step,
    token_probabilities,
    window_mask,
)


def with_data_type(result):
    """A result with the name of its data type."""
    return [dtype_of(result), result]


def probabilities_example_alone(logits, hot):
    return [token_probabilities(logits, hot)[:1], token_probabilities(logits[:1], hot)]


def probabilities_of_shifted_logits(logits, hot):
    return [token_probabilities(given, hot) for given in (logits, logits + 1)]


def probabilities_temperature(logits, equal, cold, hot):
    return [
        token_probabilities(logits[0, 0], hot),
        token_probabilities(logits[:1, :1], hot),
        token_probabilities(logits[0], hot),
        token_probabilities(logits, cold),
        token_probabilities(logits),
        token_probabilities(equal, hot),
    ]


def probabilities_top_p(logits, low, middle, high):
    return [token_probabilities(logits, top_p=share) for share in (0.01, low, middle, high, 1.0)]


def probabilities_temperature_and_top_p(logits, cold, hot, middle, high):
    return [
        token_probabilities(logits, degree, None, share)
        for degree, share in [(cold, middle), (hot, middle), (hot, high)]
    ]


def probabilities_top_k_and_top_p(V, logits, hot, low, middle, high):
    return [
        token_probabilities(logits, hot, k, share)
        for k, share in [(3, middle), (4, high), (V - 2, high), (2, low)]
    ]


def draw_token_probabilities_edges(draw: Draw):
    B, T, V = draw.sizes(3, low=5, high=9)
    levels = torch.from_numpy(draw.integers(B, T, 2 * V, low=0, high=2)).double()
    tied = levels + torch.from_numpy(draw.integers(B, T, 1, low=-3, high=3))
    cold, share = 1 / 16, 0.605 + draw.integer(1, 19) / 100
    signs = torch.from_numpy(draw.integers(B, T, 1, low=0, high=1)).double().mul(2).sub(1)
    allowed = torch.from_numpy(draw.mask(B, T, V))
    large = (200 * draw.tensor(B, T, V)).masked_fill(~allowed, -torch.inf)
    # exact in float32, so that the rest of the computation decides
    steps = (2**14 * draw.tensor(B, T, V)).round() / 2**14
    near = (200 * signs + steps).masked_fill(~allowed, -torch.inf)
    many = (
        torch.from_numpy(np.stack([draw.permutation(40) for _ in range(B)])) / 8.0
    )  # exact in 16 bits
    names = [["float16", "bfloat16", "float32", "float64"][i % 4] for i in draw.permutation(8)]
    bad = [
        (-draw.integer(1, 9) / 10, None, None),
        (1.0, -draw.integer(0, 3), None),
        (0.0, 0, None),
        (1.0, None, 0.0),
        (1.0, 2, -0.5),
        (0.0, None, 1.0 + draw.integer(1, 9) / 10),
    ]
    good = [
        (0.0, None, None),
        (0.3, V + 2, None),
        (1.0, 1, 1.0),
        (2.0, None, 0.01),
        (0.0, 1, 0.5),
        (0.7, None, None),
    ]
    cases = [(bad + good)[i] for i in draw.permutation(12)]
    return B, tied, cold, share, large, near, many, names, cases


def probabilities_greedy(tied, share, near):
    return [
        token_probabilities(tied, 0.0),
        token_probabilities(tied, 0.0, 3, None),
        token_probabilities(tied, 0, None, share),
        token_probabilities(near, 0.0),
    ]


def probabilities_ties(tied, share):
    return [
        token_probabilities(tied, 1.0, 2),
        token_probabilities(tied, 1.0, None, share),
        token_probabilities(tied, 1.0, 4, share),
    ]


def probabilities_large_logits(cold, share, large, near):
    return [
        token_probabilities(near, 1.2),
        token_probabilities(near, cold),
        token_probabilities(large.float(), 1.0),
        token_probabilities(near, 1.0, 3),
        token_probabilities(near, 1.0, None, share),
    ]


def probabilities_data_types(share, many, names):
    return [
        with_data_type(token_probabilities(many.to(getattr(torch, name)), degree, None, kept))
        for name in names
        for degree, kept in ((1.3, share), (0.0, None))
    ]


def probabilities_leave_logits(B, many):
    other_layout = many.expand(2, B, 40).mT.contiguous().mT
    return inputs_after(token_probabilities, other_layout, 2.0, 9, 0.9)


def window_longer_text(n, window):
    return [window_mask(n, n, window)[:6, :6], window_mask(6, 6, window)]


def window_newest_alone(T, S, window):
    return [window_mask(S, S, window)[-T:], window_mask(T, S, window)]


def window_newest_queries(T, S, window, wide):
    return [
        window_mask(count, S, width) for count, width in [(T, window), (1, wide), (S - 1, window)]
    ]


def window_over_all(T, S, n, window, sinks):
    return [
        window_mask(count, length, width, first)
        for count, length in [(n, n), (T, n), (S, S)]
        for width, first in [
            (length, 0),
            (S + n, sinks),
            (window, length),
            (window, S + n),
            (window, length - 1),
        ]
    ]


def update(cache, key, value, begin, end):
    """Add the positions from begin to end, without end, to a cache."""
    return cache.update(key[:, :, begin:end], value[:, :, begin:end], torch.arange(begin, end))


def before_and_after_later_calls(cache, key, value):
    """What a first call has returned, as it was at once and as it is after later calls."""
    kept = update(cache, key, value, 0, 3)
    before = [one.clone() for one in kept]
    for p in range(3, 9):
        update(cache, key, value, p, p + 1)
    return [before, kept]


def cache_keeps_what_it_returned(sinks, window, key, value):
    return before_and_after_later_calls(RollingCache(sinks, window), key, value)


def cache_example_alone(sinks, window, key, value):
    together = update(RollingCache(sinks, window), key, value, 0, 4)[:2]
    alone = update(RollingCache(sinks, window), key[:1], value[:1], 0, 4)[:2]
    return [[one[:1] for one in together], alone]


def cache_one_by_one(sinks, window, n, key, value):
    cache = RollingCache(sinks, window)
    return {f"position {p}": update(cache, key, value, p, p + 1) for p in range(n)}


def cache_pieces(sinks, window, pieces, key, value):
    cache = RollingCache(sinks=sinks, window=window)
    return {
        f"positions {begin} to {end - 1}": update(cache, key, value, begin, end)
        for begin, end in pieces
    }


def numbers_held(held):
    """How many numbers the tensors in an object's attributes have, however deep they lie."""
    if isinstance(held, torch.Tensor):
        return held.numel()
    if isinstance(held, str | bytes) or not hasattr(held, "__iter__"):
        return 0
    return sum(map(numbers_held, held.values() if isinstance(held, dict) else held))


def cache_new_texts(sinks, window, texts):
    cache = RollingCache(sinks, window)
    return [update(cache, k, v, begin, end) for k, v, begin, end in texts]


def two_caches(sinks, window, m, key, value, other_key, other_value):
    one, two = RollingCache(sinks, window), RollingCache(1, window + 2)
    return {
        f"position {p}": [
            update(one, key, value, p, p + 1),
            update(two, other_key, other_value, p, p + 1),
        ]
        for p in range(m)
    }


def cache_settings(sinks, window, m, n, key, value):
    caches = [
        RollingCache(0, window),
        RollingCache(sinks, 1),
        RollingCache(0, 1),
        RollingCache(sinks, n),
    ]
    return [[update(cache, key, value, p, p + 2) for p in range(0, m, 2)] for cache in caches]


def cache_memory(sinks, window, n, key, value, limit):
    cache = RollingCache(sinks, window)
    found = []
    for begin, end in [(0, n - 4), (n - 4, n - 2), (n - 2, n - 1)]:
        returned = update(cache, key, value, begin, end)
        held = numbers_held(getattr(cache, "__dict__", {}))
        found.append([max(limit, held), returned])
    return found


def cache_leaves_arguments(sinks, window, key, value):
    cache = RollingCache(sinks, window)
    return [
        inputs_after(
            cache.update,
            key[:, :, p : p + 3].float(),
            value[:, :, p : p + 3].float(),
            torch.arange(p, p + 3),
        )
        for p in (0, 3, 6, 9)
    ]


def bytes_of_texts(layers, heads, width, tokens, batch):
    return [
        cache_bytes(layers, heads, width, tokens, batch=texts, bytes_per_value=size)
        for texts, size in [(batch, 2), (1, 4), (batch, 1)]
    ]


def bytes_of_window(layers, heads, width, tokens, batch, window, short):
    return [
        cache_bytes(layers, heads, width, n, batch=texts, window=window)
        for n, texts in [(tokens, 1), (short, 1), (window + 1, batch), (short, batch)]
    ]


def bytes_of_latent(layers, heads, width, tokens, batch, window, latent):
    given = (layers, heads, width, tokens)
    others = {"batch": batch, "bytes_per_value": 4, "latent": latent}
    return [cache_bytes(*given, window=limit, **others) for limit in (None, window, 2 * tokens)]


def latent_example_alone(query, rope_query, latent, rope_key, w_uk, w_uv):
    given = (query, rope_query, latent, rope_key)
    together = latent_attention(*given, w_uk, w_uv)[:1]
    return [together, latent_attention(*[one[:1] for one in given], w_uk, w_uv)]


def latent_keys_in_other_order(query, rope_query, latent, rope_key, w_uk, w_uv):
    orders = [(latent, rope_key), (latent.flip(1), rope_key.flip(1))]
    return [latent_attention(query, rope_query, *keys, w_uk, w_uv) for keys in orders]


def latent_twice_the_values(query, rope_query, latent, rope_key, w_uk, w_uv):
    given = (query, rope_query, latent, rope_key, w_uk)
    return [2 * latent_attention(*given, w_uv), latent_attention(*given, 2 * w_uv)]


def latent_other_rope_key(query, rope_query, latent, rope_key, w_uk, w_uv):
    return [
        latent_attention(query, rope_query, latent, given, w_uk, w_uv)
        for given in (rope_key, -rope_key)
    ]


def latent_mask_or_none(query, rope_query, latent, rope_key, w_uk, w_uv, mask):
    given = (query, rope_query, latent, rope_key, w_uk, w_uv)
    return [latent_attention(*given, None), latent_attention(*given, mask)]


def latent_hidden_keys(query, rope_query, latent, rope_key, w_uk, w_uv, padding):
    may_be_seen = padding[:, 0, 0, :, None]
    results = []
    for factor in (1, -3):
        keys = [torch.where(may_be_seen, one, factor * one) for one in (latent, rope_key)]
        results.append(latent_attention(query, rope_query, *keys, w_uk, w_uv, padding))
    return results


def latent_broadcast_masks(query, rope_query, latent, rope_key, w_uk, w_uv, mask, padding):
    keys = (latent, rope_key, w_uk, w_uv)
    masks = (padding, mask[0, 0], mask[:, :1], mask[0])
    masked = [latent_attention(query, rope_query, *keys, given) for given in masks]
    return [*masked, latent_attention(query[:, :, :1], rope_query[:, :, :1], *keys)]


def latent_large_scores(query, rope_query, latent, rope_key, w_uk, w_uv, mask, with_empty):
    keys = (latent, rope_key, w_uk, w_uv)
    return [
        latent_attention(90 * query, 90 * rope_query, *keys, mask),
        latent_attention(-9e4 * query, -9e4 * rope_query, *keys, mask),
        latent_attention(query, -900 - rope_query, latent, rope_key.abs(), w_uk, w_uv, mask),
        latent_attention(query, rope_query, *keys, with_empty),
    ]


def latent_gradients(query, rope_query, latent, rope_key, w_uk, w_uv, with_empty):
    given = (query, rope_query, latent, rope_key, w_uk, w_uv, with_empty)
    return gradients(latent_attention, *given)["inputs"]


def latent_data_types(query, rope_query, latent, rope_key, w_uk, w_uv, mask, names):
    given = (query, rope_query, latent, rope_key, w_uk, w_uv)
    return [
        with_data_type(latent_attention(*[x.clone().to(getattr(torch, name)) for x in given], mask))
        for name in names
    ]


def latent_leaves_arguments(query, rope_query, latent, rope_key, w_uk, w_uv, with_empty):
    given = (query, rope_query, latent, rope_key, w_uk, w_uv)
    other_layout = [torch.stack([x.mT, 2 * x.mT]).mT[1] for x in given]
    return inputs_after(latent_attention, *other_layout, with_empty)


def frequencies_ntk(d, base, factor, length, other_d, other_base):
    return [
        rope_frequencies(d, base, factor, length, "ntk").float(),
        rope_frequencies(other_d, other_base, factor, length, "ntk").float(),
    ]


def frequencies_yarn(d, base, factor, length):
    return [
        rope_frequencies(d, base, factor, original_length=n, method="yarn").float()
        for n in (length, 4 * length)
    ]


def frequencies_narrow_heads(factor, length, other_d, other_base):
    return [
        rope_frequencies(width, other_base, s, length // 4, method).float()
        for width, s in [(4, factor), (6, factor), (other_d, 1.0)]
        for method in ("linear", "ntk", "yarn")
    ]


def frequencies_raise(d, base, length, methods, factors):
    return [
        raised(rope_frequencies, d, base, s, length, method)
        for s, method in zip(factors, methods, strict=True)
    ]


def speculative_rule(drafts, uniforms, p_draft, p_target):
    return [
        speculative_step(drafts[number], p_draft, p_target, uniforms[number])
        for number in range(60)
    ]


def speculative_first_refused(p_draft, planned, extreme, arranged):
    return [
        speculative_step(planned[number], p_draft, arranged, extreme[number])
        for number in range(60)
    ]


def speculative_equal_models(drafts, uniforms, p_draft, safe):
    return [
        speculative_step(drafts[number], p_draft, safe, uniforms[number]) for number in range(30)
    ]


def speculative_few_guesses(p_draft, planned, extreme, arranged):
    return [
        [
            speculative_step(
                planned[number, 1 : k + 1],
                p_draft[1 : k + 1],
                arranged[1 : k + 2],
                extreme[number, 2 : 2 * k + 4],
            )
            for number in range(10, 50)
        ]
        for k in (1, 0)
    ]


def in_other_layout(matrix):
    """A copy of a matrix whose columns lie next to one another."""
    return matrix.mT.contiguous().mT


def speculative_excluded_tokens(drafts, uniforms, p_draft, excluding):
    return [
        speculative_step(drafts[number], p_draft, excluding, uniforms[number])
        for number in range(70)
    ]


def speculative_extreme_uniforms(drafts, p_draft, excluding, ends):
    return [
        speculative_step(drafts[number], p_draft, excluding, ends[number]) for number in range(70)
    ]


def speculative_leaves_arguments(drafts, p_draft, p_target, mixed):
    return [
        inputs_after(
            speculative_step,
            in_other_layout(drafts)[number],
            in_other_layout(p_draft),
            in_other_layout(p_target),
            in_other_layout(mixed)[number],
        )
        for number in range(30)
    ]
