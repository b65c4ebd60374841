"""What answers to the peers' tasks do on inputs that each statement allows, for comparison with right code.

Independent of all graders: sizes that differ, scores that are large, long and short sequences, gradients where a
statement asks for them, and the largest tensor where it forbids the whole matrix.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.peer_answers.answer import OURS, TORCH_JUDGE, TORCHLEET
from solutions.ch2_scaled_dot_product import attention
from solutions.ch3_multi_head import MultiHeadAttention


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
    for x in (
        plain,
        wide,
        tuple(x.double() for x in qkv((3,), 3, 3, 3, 3, scale=900)),
        low(wide),
        far_apart(plain),
    ):
        yield from tensors(function(*x))
    yield from gradients(function, *wide)


def sdp_leet(names):
    function = names["scaled_dot_product_attention"]
    yield from tensors(function(*qkv((2,), 3, 5, 6, 7)))
    for shape in ((2, 3), (4, 4)):
        plain = qkv(shape, 4, 4, 6, 7)
        mask = drawn(4, 4, seed=5) > 0
        mask |= torch.eye(4, dtype=torch.bool)
        for x in (
            plain,
            low(plain),
            far_apart(plain),
            tuple(x.double() for x in qkv(shape, 4, 4, 6, 6, scale=900)),
        ):
            for given in (None, mask, torch.ones(4, 4, dtype=torch.bool).tril()):
                yield from tensors(function(*x, given))


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
    for given in (low(x), far_apart(x), falling, (900 * query, key, value)):
        yield from tensors(function(*given, 4))
    yield whole(function, *qkv(batch, 130, 130, 4, 4), 16, numbers=130 * 130)


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
}


def results(task, grader, text, place):
    """What a text does on the cases of a task and grader; an error stands at the end for all that is missing."""
    torch.manual_seed(0)
    found = []
    try:
        for one in CASES[task, grader](namespace(text, place.adapter)):
            found.append(one.detach().double())
    except Exception as error:
        found.append(error)
    return found


def same(first, second):
    """Whether two lists of results are equal but for rounding in float32."""
    return len(first) == len(second) and all(
        isinstance(a, torch.Tensor)
        and isinstance(b, torch.Tensor)
        and a.shape == b.shape
        and torch.allclose(a, b, rtol=1e-4, atol=2e-5)
        for a, b in zip(first, second, strict=True)
    )
