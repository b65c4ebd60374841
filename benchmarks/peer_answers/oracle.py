"""What answers to the tasks do on inputs that each statement allows, for comparison with right code.

Independent of all graders: sizes that differ, scores that are large, long and short sequences, gradients where a
statement asks for them, and the largest tensor where it forbids the whole matrix.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.peer_answers.answer import OURS, TORCH_JUDGE, TORCHLEET
from solutions import ch7_training
from solutions.ch2_scaled_dot_product import attention
from solutions.ch3_multi_head import MultiHeadAttention
from solutions.ch8_language_model import token_probabilities


@dataclass(frozen=True)
class Large:
    """A result of inputs whose scores are in the hundreds or more."""

    value: torch.Tensor


@dataclass(frozen=True)
class Case:
    """What an answer gives in one case; None for an error, after which there are no more cases."""

    value: torch.Tensor | None
    large: bool


def namespace(text, adapter):
    """The names that a text and its adapter define."""
    names = {}
    exec(f"{text}\n\n{adapter}", names)
    return names


class Largest(TorchDispatchMode):
    """The most numbers that a tensor had which an operation made."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor) and made.untyped_storage().nbytes():
            self.numbers = max(self.numbers, made.numel())
        return made


def whole(function, *args, numbers):
    """Whether a call makes a tensor of so many numbers."""
    with Largest() as largest:
        function(*args)
    return torch.tensor(largest.numbers >= numbers)


def tensors(found):
    """All tensors of a result, in order."""
    if isinstance(found, torch.Tensor):
        return [found]
    if isinstance(found, dict):
        found = found.values()
    return [one for part in found for one in tensors(part)]


def large(found):
    """All tensors of a result, of large scores."""
    return [Large(one) for one in tensors(found)]


def gradients(function, *args):
    """Gradients of the arguments; NaN for those that have none."""
    args = [x.clone().requires_grad_() for x in args]
    loss = sum((x**2).sum() for x in tensors(function(*args))[:1])
    loss.backward()
    return [torch.full_like(x, torch.nan) if x.grad is None else x.grad for x in args]


def drawn(*shape, seed=0, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def qkv(batch, T, S, d, dv, scale=1.0, seed=0):
    return (
        drawn(*batch, T, d, seed=seed, scale=scale),
        drawn(*batch, S, d, seed=seed + 1),
        drawn(*batch, S, dv, seed=seed + 2),
    )


def low(x):
    """Queries and keys whose scores are far below 0, by different amounts."""
    query, key, value = (one.double() for one in x)
    return 300 + query.abs(), -300 - key.abs(), value


def far_apart(x):
    """Queries whose scores are around 0, in the thousands and in the millions."""
    query, key, value = (one.double() for one in x)
    return query * 1000.0 ** torch.arange(query.shape[-2])[:, None].clamp(max=2), key, value


def raised(function, *args):
    try:
        function(*args)
    except ValueError:
        return torch.tensor(True)
    return torch.tensor(False)


def sdp_judge(names):
    function = names["scaled_dot_product_attention"]
    plain, wide = qkv((2,), 3, 5, 6, 7), qkv((2,), 4, 4, 8, 8)
    for x in (plain, wide):
        yield from tensors(function(*x))
    yield from gradients(function, *wide)
    extreme = tuple(x.double() for x in qkv((3,), 3, 3, 3, 3, scale=900))
    for x in (extreme, low(wide), far_apart(plain)):
        yield from large(function(*x))


def sdp_leet(names):
    function = names["scaled_dot_product_attention"]
    yield from tensors(function(*qkv((2,), 3, 5, 6, 7)))
    for shape in ((2, 3), (4, 4)):
        plain = qkv(shape, 4, 4, 6, 7)
        extreme = tuple(x.double() for x in qkv(shape, 4, 4, 6, 6, scale=900))
        mask = drawn(4, 4, seed=5) > 0
        mask |= torch.eye(4, dtype=torch.bool)
        masks = (None, mask, torch.ones(4, 4, dtype=torch.bool).tril())
        for given in masks:
            yield from tensors(function(*plain, given))
        for x in (low(plain), far_apart(plain), extreme):
            for given in masks:
                yield from large(function(*x, given))


def sdp_ours(names):
    yield from sdp_leet(
        names | {"scaled_dot_product_attention": lambda *given: names["attention"](*given)}
    )
    mask = torch.tensor([[True, False], [False, False], [True, True]])
    yield from tensors(names["attention"](*qkv((2,), 3, 2, 6, 7), mask))
    yield from gradients(names["attention"], *qkv((2,), 3, 5, 6, 7))


def flash_peers(names, function, batch):
    sizes = [(16, 8, 4), (7, 4, 3), (12, 96, 5), (5, 6, 32), (9, 16, 1), (64, 16, 16), (16, 64, 8)]
    for length, d, block in sizes:
        x = qkv((*batch,), length, length, d, d, scale=3)
        yield from tensors(function(*x, block))
    x = qkv(batch, 16, 16, 16, 16)
    query, key, value = (one.double() for one in x)
    falling = 40 + query.abs(), (1 + key.abs()) * torch.linspace(40, -40, 16)[:, None], value
    yield whole(function, *qkv(batch, 130, 130, 4, 4), 16, numbers=130 * 130)
    for given in (low(x), far_apart(x), falling, (900 * query, key, value)):
        yield from large(function(*given, 4))


def flash_judge(names):
    yield from flash_peers(names, names["flash_attention"], (2,))


def flash_leet(names):
    yield from flash_peers(names, names["flash_attention_pytorch"], (2, 3))


def flash_ours(names):
    function = names["flash_forward"]
    yield from flash_peers(names, lambda q, k, v, n: function(q, k, v, n, n), (2,))
    for T, S in ((7, 11), (11, 7), (9, 9)):
        x = qkv((2,), T, S, 6, 4, scale=3)
        for causal in (False, True):
            yield from tensors(function(*x, 4, 3, causal))
    x = [one.bfloat16() for one in qkv((), 3, 400, 4, 4)]
    yield from (one.float() for one in tensors(function(*x, 3, 9)))


def window_judge(names):
    function = names["sliding_window_attention"]
    for length, width in ((10, 0), (10, 1), (10, 3), (9, 2), (6, 9)):
        yield from tensors(function(*qkv((2,), length, length, 6, 6, scale=3), width))


def window_leet(names):
    yield from window_judge(names)
    for length, width in ((10, 0), (10, 1), (10, 3), (6, 9)):
        yield names["create_sliding_window_mask"](length, width)
    yield names["full_attention"](*qkv((2,), 5, 5, 6, 6))


def window_ours(names):
    for case in ((6, 6, 1), (6, 6, 3), (3, 8, 3), (1, 8, 4, 2), (8, 8, 2, 3), (8, 8, 20)):
        yield names["window_mask"](*case)


def grouped_judge(names):
    for heads, groups in ((8, 2), (6, 3), (4, 4), (4, 1), (6, 2), (48, 2)):
        torch.manual_seed(1)
        layer = names["GroupQueryAttention"](heads * 4, heads, groups)
        for weight in layer.parameters():
            weight.data *= 3
        yield layer.forward(drawn(2, 5, heads * 4))


def grouped_leet(names):
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    for heads, groups in ((8, 2), (6, 3), (4, 4), (4, 1), (48, 2)):
        for given in (None, mask):
            torch.manual_seed(1)
            x = [drawn(2, 5, heads * 4, seed=seed, scale=4) for seed in range(3)]
            yield names["grouped_query_attention"](*x, heads, groups, heads * 4, given)
    x = [drawn(2, 5, 16, seed=seed) for seed in range(3)]
    yield raised(names["grouped_query_attention"], *x, 4, 3, 16)


def grouped_ours(names):
    if "split_heads" in names:
        yield names["split_heads"](drawn(2, 5, 12), 3)
    elif "merge_heads" in names:
        yield names["merge_heads"](drawn(2, 3, 5, 4))
    else:
        function = names["grouped_query_attention"]
        for heads, groups in ((8, 2), (6, 3), (4, 4), (4, 1), (48, 2)):
            sizes = enumerate((heads, groups, groups))
            x = [drawn(2, n, 5, 4, seed=seed) for seed, n in sizes]
            for mask in (None, drawn(2, heads, 5, 5, seed=9) > 0):
                yield from tensors(function(*x, mask))
        yield raised(function, *[drawn(1, n, 5, 4) for n in (4, 3, 3)])


def linear_judge(names):
    function = names["linear_attention"]
    for length, d, dv in ((8, 6, 7), (5, 4, 4), (70, 5, 5), (8, 6, 7)):
        yield function(*qkv((2,), length, length, d, dv, scale=2))
        yield function(*qkv((2,), length, length, d, dv, seed=7))
    yield whole(function, *qkv((1,), 300, 300, 4, 4), numbers=300 * 300)


def linear_ours(names):
    function = names["linear_attention_chunked"]
    for length, d, dv, chunk in ((8, 6, 7, 4), (7, 4, 4, 3), (5, 3, 4, 9), (7, 4, 4, 3)):
        yield from tensors(function(*qkv((2,), length, length, d, dv), chunk))
        yield from tensors(function(*qkv((2,), length, length, d, dv, seed=7), chunk))
    yield whole(function, *qkv((), 300, 300, 4, 4), 16, numbers=300 * 300)


def cache_judge(names):
    torch.manual_seed(3)
    layer = names["KVCacheAttention"](16, 2)
    with torch.no_grad():
        for pieces in ((4, 1, 1), (1, 1, 1, 1), (3, 2, 2)):
            x, cache = drawn(3, sum(pieces), 16, seed=len(pieces)), None
            yield from tensors(layer(x))
            for piece in x.split(pieces, dim=1):
                out, cache = layer(piece, cache)
                yield from tensors((out, cache))
        long = drawn(1, 1030, 16)
        _, cache = layer(long[:, :1026])
        yield layer(long[:, 1026:1027], cache)[0]


def cache_leet(names):
    torch.manual_seed(3)
    layer = names["CachedAttention"](16, 2)
    with torch.no_grad():
        for length in (6, 4):
            x, cache = drawn(3, length, 16, seed=length), names["KVCache"]()
            yield layer(x)
            for piece in x.split(1, dim=1):
                yield layer(piece, kv_cache=cache)
            yield from tensors(cache.get())
        cache.reset()
        yield from tensors(cache.update(drawn(3, 2, 1, 8), drawn(3, 2, 1, 8, seed=1)))
        cache = names["KVCache"]()
        cache.update(drawn(1, 2, 1026, 8), drawn(1, 2, 1026, 8, seed=1))
        yield from tensors(cache.update(drawn(1, 2, 1, 8), drawn(1, 2, 1, 8, seed=1)))


def cache_ours(names):
    torch.manual_seed(3)
    layer = MultiHeadAttention(16, 2, attention)
    with torch.no_grad():
        for length in (6, 4):
            cache = None
            for piece in drawn(3, length, 16, seed=length).split(1, dim=1):
                out, cache = names["cached_attention"](layer, piece, cache)
                yield from tensors((out, cache["key"], cache["value"]))
        old = {"key": drawn(1, 2, 1026, 8), "value": drawn(1, 2, 1026, 8, seed=1)}
        yield names["cached_attention"](layer, drawn(1, 1, 16), old)[0]


def softmax_along(function):
    for shape in ((5,), (4, 8), (3, 3, 3)):
        for dim in range(-1, len(shape)):
            yield function(drawn(*shape, scale=2), dim)
    rows = drawn(4, 3).double()
    for x in (rows + 1e4, rows - 1e4, 1e4 * rows):
        yield from large(function(x, -1))


def softmax_judge(names):
    yield from softmax_along(names["my_softmax"])


def softmax_leet(names):
    yield from softmax_along(names["softmax"])


def softmax_ours(names):
    def function(x, dim):
        return torch.from_numpy(names["softmax"](x.numpy(), dim))

    yield torch.from_numpy(names["softmax"](np.array([[1, 2, 4], [3, 3, -1]])))
    yield from softmax_along(function)


def layer_of(make, *sizes):
    """A layer with weights that make the softmax sharp."""
    torch.manual_seed(1)
    layer = make(*sizes)
    for part in vars(layer).get("_modules") or vars(layer):
        inner = getattr(layer, part)
        if isinstance(inner, torch.nn.Linear):
            for weight in inner.parameters():
                weight.data *= 3
    return layer


def multi_head_judge(names):
    for heads, T, S in ((4, 3, 5), (2, 4, 4), (1, 3, 2), (3, 3, 3)):
        D = heads * 4
        layer = layer_of(names["MultiHeadAttention"], D, heads)
        yield layer.forward(drawn(2, T, D), drawn(2, S, D, seed=1), drawn(2, S, D, seed=2))


def multi_head_leet(names):
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    for heads in (4, 1, 5):
        for given in (None, mask, mask.int()):
            torch.manual_seed(1)
            x = [drawn(2, 5, heads * 4, seed=seed, scale=4) for seed in range(3)]
            yield names["multi_head_attention"](*x, heads, heads * 4, given)


def multi_head_ours(names):
    for heads, T, S in ((4, 3, 5), (2, 4, 4), (3, 3, 3)):
        D = heads * 4
        layer = layer_of(names["MultiHeadAttention"], D, heads)
        x = drawn(2, T, D), drawn(2, S, D, seed=1), drawn(2, S, D, seed=2)
        mask = drawn(2, heads, T, S, seed=9) > 0
        mask[:, :, 0] = False
        for given in (None, mask, mask[:1, :1]):
            yield from tensors(layer(*x, given))


def causal_judge(names):
    function = names["causal_attention"]
    for batch, length, d in ((2, 5, 6), (1, 1, 3), (4, 4, 4)):
        yield function(*qkv((batch,), length, length, d, d, scale=3))
    x = qkv((2,), 5, 5, 6, 6)
    yield from gradients(function, *x)
    extreme = tuple(one.double() for one in qkv((3,), 4, 4, 5, 5, scale=900))
    for given in (low(x), far_apart(x), extreme):
        yield from large(function(*given))


def causal_ours(names):
    for sizes in ((5,), (3, 7), (7, 3), (1, 6), (6, 1), (4, 4)):
        yield names["causal_mask"](*sizes)


def cross_judge(names):
    for heads, T, S in ((4, 3, 5), (2, 4, 4), (1, 5, 2), (3, 3, 3)):
        layer = layer_of(names["MultiHeadCrossAttention"], heads * 4, heads)
        yield layer(drawn(2, T, heads * 4), drawn(2, S, heads * 4, seed=1))


def cross_entropy_judge(names):
    function = names["cross_entropy_loss"]
    for rows, tokens in ((4, 10), (1, 3), (5, 5)):
        targets = torch.arange(rows) * 7 % tokens
        logits = drawn(rows, tokens, scale=3)
        yield function(logits, targets)
        yield slope(function, logits, targets)
    for scale in (1e3, -1e3):
        yield Large(function(scale * drawn(4, 6).double(), torch.tensor([0, 3, 1, 5])))


def slope(function, logits, *rest):
    """The gradient of the logits."""
    logits = logits.clone().requires_grad_()
    function(logits, *rest).backward()
    return torch.full_like(logits, torch.nan) if logits.grad is None else logits.grad


def cross_entropy_ours(names):
    function = names["smoothed_cross_entropy"]
    logits = drawn(3, 7, 5, scale=2)
    tokens = torch.arange(21).reshape(3, 7) * 3 % 5
    filling = torch.arange(7) >= torch.tensor([[7], [4], [2]])
    for pad in (2, -100, 9):
        targets = torch.where(tokens == pad, (tokens + 1) % 5, tokens).masked_fill(filling, pad)
        for smoothing in (0.1, 0.0, 1.0):
            yield function(logits, targets, smoothing, pad)
            yield slope(function, logits, targets, smoothing, pad)
    yield Large(function(1e3 * logits.double(), tokens.masked_fill(filling, -100), 0.1, -100))


def sinusoidal_leet(names):
    for length, width in ((32, 64), (7, 10), (5, 2), (100, 64)):
        module = names["SinusoidalPositionalEmbedding"](length, width)
        yield module.pe.squeeze()
        yield module(drawn(2, 4, width))


def sinusoidal_ours(names):
    for sizes in ((30, 12), (6, 6), (1, 8), (9, 2), (21, 10, 77.0)):
        yield names["sinusoidal"](*sizes)


def rope_judge(names):
    for length, width in ((8, 6), (1, 4), (6, 6), (40, 2)):
        x = drawn(2, length, width), drawn(2, length, width, seed=1)
        yield from tensors(names["apply_rope"](*x))
    yield from gradients(lambda x: names["apply_rope"](x, x), drawn(1, 4, 6))


def rope_leet(names):
    for shape in ((2, 4, 8, 16), (2, 4), (3, 4, 6)):
        yield names["rotate_half"](drawn(*shape))
    angles = 3 * drawn(8, 3)
    cos, sin = (torch.cat([one, one], dim=-1) for one in (angles.cos(), angles.sin()))
    x = drawn(2, 4, 8, 6), drawn(2, 4, 8, 6, seed=1)
    yield from tensors(names["apply_rotary_pos_emb"](*x, cos, sin))


def rope_ours(names):
    function = names["rope"]
    x = drawn(2, 3, 5, 6).double()
    yield function(x, torch.arange(5))
    yield function(x, torch.tensor([7, 3, 40, 0, 11]), 77.0)
    yield function(x, torch.arange(30).reshape(2, 3, 5))
    yield function(x[..., :2], torch.tensor([6000, 1, 2, 3, 6001]))
    yield from gradients(lambda x: function(x, torch.arange(5)), x)


SETTINGS = [
    *((degree, None, None) for degree in (0.4, 1.0, 2.5)),
    *((degree, k, None) for degree in (0.4, 1.0) for k in (1, 3, 8, 9)),
    *((degree, None, p) for degree in (0.4, 1.0, 2.5) for p in (0.01, 0.3, 0.6, 0.9, 1.0)),
    *((1.5, k, p) for k in (1, 3, 5) for p in (0.3, 0.7, 0.95)),
]


def without_the_crossing(p, top_p):
    """The largest probabilities whose sum doesn't exceed top_p, at least one; p: (V,)."""
    ordered, tokens = p.sort(descending=True)
    kept = ordered.cumsum(0) <= top_p + 1e-6
    kept[0] = True
    return torch.zeros_like(p).scatter(0, tokens, ordered * kept / (ordered * kept).sum())


def sampling_judge(names):
    logits = 1.5 * drawn(9)
    for degree, k, p in SETTINGS:
        found = names["distribution"](logits, degree, k, 1.0 if p is None else p)
        allowed = [token_probabilities(logits, degree, k, p)]
        if p is not None:
            allowed.append(without_the_crossing(token_probabilities(logits, degree, k), p))
        yield torch.tensor(any(torch.allclose(found, one, atol=1e-5) for one in allowed))
    for seed in range(20):
        torch.manual_seed(seed)
        yield torch.tensor(0 <= names["sample_top_k_top_p"](logits, 4, 0.9) < 9)


def sampling_leet(names):
    for logits in (1.5 * drawn(9), drawn(1, 9)):
        for degree, k, p in SETTINGS:
            if k is None or p is None:
                yield names["distribution"](logits, degree, k, p)


def sampling_ours(names):
    function = names["token_probabilities"]
    logits = 1.5 * drawn(2, 3, 9)
    for setting in SETTINGS:
        yield function(logits, *setting)
    tied = torch.tensor([[1.0, 3, 3, 3, 0], [2, 2, 2, 2, 2]])
    closed = drawn(3, 7).masked_fill(drawn(3, 7, seed=3) > 0.5, -torch.inf)
    for given in (tied, closed, logits.half()):
        for setting in ((1.0, 2, None), (1.0, None, 0.62), (0, 3, 0.5), (0.7, 4, 0.8)):
            yield function(given, *setting).float()
    for scale in (300, -300):
        for setting in ((1.0, None, None), (0.5, 3, 0.9)):
            yield Large(function(scale * logits, *setting))


def outcomes(p_draft, p_target, start=0):
    """The tokens that a step adds, with their probabilities, by the rule itself."""
    if start == len(p_draft):
        last = p_target[start] if start < len(p_target) else None
        return {(): 1.0} if last is None else {(v,): float(x) for v, x in enumerate(last)}
    found: Counter = Counter()
    p, q = p_target[start], p_draft[start]
    rest = outcomes(p_draft, p_target, start + 1)
    for v in range(len(p)):
        found[(v,)] += max(float(p[v] - q[v]), 0.0)
        for after, share in rest.items():
            found[(v, *after)] += min(float(p[v]), float(q[v])) * share
    return found


def follows_the_rule(step, p_draft, p_target, times=1200):
    """Whether a step adds tokens with the right probabilities."""
    torch.manual_seed(7)
    drafts = torch.multinomial(p_draft, times, replacement=True).T
    uniforms = torch.rand(times, 2 * len(p_draft) + 2)
    found = Counter(
        tuple(step(draft, p_draft, p_target, own))
        for draft, own in zip(drafts, uniforms, strict=True)
    )
    right = outcomes(p_draft, p_target)
    off = sum(abs(found[key] / times - right.get(key, 0.0)) for key in {*found, *right})
    return torch.tensor(off / 2 < 0.08)


TARGETS = torch.tensor([[0.5, 0.2, 0.3], [0.2, 0.8, 0.0], [0.1, 0.3, 0.6]])
DRAFTS = torch.tensor([[0.2, 0.6, 0.2], [0.5, 0.3, 0.2]])


def speculative_judge(names):
    yield follows_the_rule(names["step"], DRAFTS[:1], TARGETS[:1])
    yield follows_the_rule(names["step"], DRAFTS, TARGETS[:2])
    yield follows_the_rule(names["step"], TARGETS[:2], TARGETS[:2])


def speculative_leet(names):
    yield follows_the_rule(names["step"], DRAFTS[:1], TARGETS[:2])
    yield follows_the_rule(names["step"], DRAFTS[1:], TARGETS[1:])
    yield follows_the_rule(names["step"], TARGETS[:2], TARGETS)


def speculative_ours(names):
    generator = torch.Generator().manual_seed(1)
    for n in (2, 1, 0):
        for _ in range(40):
            draft = torch.randint(0, 3, (n,), generator=generator)
            uniforms = torch.rand(2 * n + 2, generator=generator)
            yield names["speculative_step"](draft, DRAFTS[:n], TARGETS[: n + 1], uniforms)
            for place in range(2 * n + 2):
                edge = uniforms.clone()
                edge[place] = 0.0
                yield names["speculative_step"](draft, DRAFTS[:n], TARGETS[: n + 1], edge)


def widest(step, start, eos, beam, rounds):
    """Beam search as torch-judge's statement has it: what has ended stays among the beams."""
    beams = [(0.0, [start])]
    for _ in range(rounds):
        grown = [one for one in beams if one[1][-1] == eos]
        for total, tokens in beams:
            if tokens[-1] != eos:
                log_p = step(tokens).tolist()
                grown += [(total + one, [*tokens, token]) for token, one in enumerate(log_p)]
        beams = sorted(grown, reverse=True)[:beam]
        if beams[0][1][-1] == eos:
            break
    return beams[0][1]


def tables(number, length, tokens, seed=0):
    """Log-probabilities by position and last token."""
    return (2 * drawn(number, length, tokens, tokens, seed=seed)).double().log_softmax(-1)


def beam_judge(names):
    for seed, beam in itertools.product(range(12), (1, 2, 3)):
        (table,) = tables(1, 9, 5, seed)
        table[:, :, 4] += 1.5

        def step(tokens, table=table):
            return table[len(tokens) - 1, tokens[-1]]

        right = widest(step, 0, 4, beam, 8)
        ids, _ = ch7_training.beam_search(
            lambda prefixes: torch.stack([step(one) for one in prefixes.tolist()]),
            0,
            4,
            beam,
            8,
            0.0,
        )
        # only where the ways to treat what has ended agree, and nothing comes near the limit
        if right == [0, *ids.tolist()] and right[-1] == 4 and len(right) < 7:
            yield torch.tensor(names["beam_search"](step, 0, 8, beam, 4) == right)


def beam_leet(names):
    for seed, beam, length in itertools.product(range(4), (1, 2, 3), (2, 4, 6)):
        (logits,) = 2 * drawn(1, 6, 6, seed=seed)
        found = names["beam_search"](lambda token, own=logits: own[token][None], 0, beam, length)
        yield torch.tensor(found)


def beam_ours(names):
    for seed, beam, alpha in itertools.product(range(10), (1, 2, 4), (0.0, 0.7, 1.5)):
        (table,) = tables(1, 6, 5, seed)
        table[:, :, 4] += seed / 6

        def step(prefixes, table=table):
            return table[prefixes.shape[1] - 1, prefixes[:, -1]]

        ids, score = names["beam_search"](step, 0, 4, beam, 6, alpha)
        yield torch.cat([ids.double(), torch.tensor([score], dtype=torch.float64)])


CASES = {
    ("scaled_dot_product", TORCH_JUDGE): sdp_judge,
    ("scaled_dot_product", TORCHLEET): sdp_leet,
    ("scaled_dot_product", OURS): sdp_ours,
    ("flash", TORCH_JUDGE): flash_judge,
    ("flash", TORCHLEET): flash_leet,
    ("flash", OURS): flash_ours,
    ("window", TORCH_JUDGE): window_judge,
    ("window", TORCHLEET): window_leet,
    ("window", OURS): window_ours,
    ("grouped", TORCH_JUDGE): grouped_judge,
    ("grouped", TORCHLEET): grouped_leet,
    ("grouped", OURS): grouped_ours,
    ("linear", TORCH_JUDGE): linear_judge,
    ("linear", OURS): linear_ours,
    ("cache", TORCH_JUDGE): cache_judge,
    ("cache", TORCHLEET): cache_leet,
    ("cache", OURS): cache_ours,
    ("softmax", TORCH_JUDGE): softmax_judge,
    ("softmax", TORCHLEET): softmax_leet,
    ("softmax", OURS): softmax_ours,
    ("multi_head", TORCH_JUDGE): multi_head_judge,
    ("multi_head", TORCHLEET): multi_head_leet,
    ("multi_head", OURS): multi_head_ours,
    ("causal", TORCH_JUDGE): causal_judge,
    ("causal", OURS): causal_ours,
    ("cross", TORCH_JUDGE): cross_judge,
    ("cross", OURS): multi_head_ours,
    ("cross_entropy", TORCH_JUDGE): cross_entropy_judge,
    ("cross_entropy", OURS): cross_entropy_ours,
    ("sinusoidal", TORCHLEET): sinusoidal_leet,
    ("sinusoidal", OURS): sinusoidal_ours,
    ("rope", TORCH_JUDGE): rope_judge,
    ("rope", TORCHLEET): rope_leet,
    ("rope", OURS): rope_ours,
    ("sampling", TORCH_JUDGE): sampling_judge,
    ("sampling", TORCHLEET): sampling_leet,
    ("sampling", OURS): sampling_ours,
    ("speculative", TORCH_JUDGE): speculative_judge,
    ("speculative", TORCHLEET): speculative_leet,
    ("speculative", OURS): speculative_ours,
    ("beam", TORCH_JUDGE): beam_judge,
    ("beam", TORCHLEET): beam_leet,
    ("beam", OURS): beam_ours,
}


def results(task, grader, text, place) -> list[Case]:
    """What a text does in the cases of a task and grader."""
    torch.manual_seed(0)
    found = []
    try:
        for one in CASES[task, grader](namespace(text, place.adapter)):
            value = one.value if isinstance(one, Large) else one
            found.append(Case(value.detach().double(), isinstance(one, Large)))
    except Exception:
        found.append(Case(None, large=False))
    return found


SAME, LARGE_ONLY, WRONG = "same", "large", "wrong"


def judged(right: Sequence[Case], found: Sequence[Case]) -> str:
    """How results differ from right ones: not but for rounding, with large scores only, or with others too."""
    differ = set()
    for expected, one in itertools.zip_longest(right, found):
        if expected is None or one is None or one.value is None:
            differ.add(expected is not None and expected.large)
            break
        if expected.value.shape != one.value.shape or not torch.allclose(
            expected.value, one.value, rtol=1e-4, atol=2e-5
        ):
            differ.add(expected.large)
    if not differ:
        return SAME
    return LARGE_ONLY if differ == {True} else WRONG
