"""Right answers that round differently: of three ways to compute each, the one that strains the lines most.

Each is what somebody might write who knows the formula: another order of operations, sums of squares in
place of sums of differences, logarithms in place of quotients, float32 throughout. Of those that pass with
a hundred thousandth of what is tolerated, the one stays that is no other way of the catalogue.
"""

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from solutions.ch3_multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.ch6_transformer import DecoderLayer, EncoderLayer, FeedForward

# (exercise, answer) -> its forms
FORMS: dict[tuple[str, str], list[Callable]] = {}


def form(exercise: str, answer: str) -> Callable[[Callable], Callable]:
    """A decorator: this is a right form of an exercise's answer."""

    def register(function: Callable) -> Callable:
        FORMS.setdefault((exercise, answer), []).append(function)
        return function

    return register


# Additive attention ---------------------------------------------------------------------------------

CH1 = "ch1_additive_attention"


@form(CH1, "additive_scores")
def _(query, key, w_q, w_k, v):
    """By exponentials: tanh x = 1 - 2 / (exp 2x + 1)."""
    hidden = np.einsum("ad,bd->ba", w_q, query)[:, None] + np.einsum("ad,bsd->bsa", w_k, key)
    with np.errstate(over="ignore"):
        return ((1 - 2 / (np.exp(2 * hidden) + 1)) * v).sum(-1)


@form(CH1, "attend")
def _(scores, value, mask=None):
    """The numerator first, divided at the end."""
    mask = np.ones(scores.shape, bool) if mask is None else mask
    highest = np.array([row[allowed].max() for row, allowed in zip(scores, mask, strict=True)])
    shares = np.where(mask, np.exp(np.minimum(scores - highest[:, None], 0)), 0)
    total = shares.sum(-1)
    return np.einsum("bs,bsd->bd", shares, value) / total[:, None], shares / total[:, None]


@form(CH1, "AdditiveAttention")
class _(nn.Module):
    """A thousand million taken off, then logarithms."""

    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, query, key, mask=None):
        hidden = torch.tanh(self.w_q(query)[:, None] + self.w_k(key))
        scores = hidden @ self.v.weight[0]
        weights = (scores if mask is None else scores - 1e9 * ~mask).log_softmax(-1).exp()
        return (weights[..., None] * key).sum(1), weights


# Scaled dot-product attention -----------------------------------------------------------------------

CH2 = "ch2_scaled_dot_product"


@form(CH2, "softmax")
def _softmax_by_twos(x, axis=-1):
    x = np.asarray(x) / math.log(2)
    powers = np.exp2(x - np.max(x, axis, keepdims=True))
    return powers * (1 / powers.sum(axis, keepdims=True))


@form(CH2, "attention_numpy")
def _(query, key, value, mask=None):
    scores = np.einsum("...td,...sd->...ts", query / math.sqrt(query.shape[-1]), key)
    if mask is None:
        weights = _softmax_by_twos(scores)
    else:
        weights = np.where(mask, _softmax_by_twos(np.where(mask, scores, -1e30)), 0)
    return weights @ value, weights


@form(CH2, "score_statistics")
def _(query, key, scale):
    scores = scale * np.einsum("md,nd->mn", query, key)
    weights = _softmax_by_twos(scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(weights > 0, weights * np.log(weights), 0)
    return {
        "variance": float((scores**2).mean() - scores.mean() ** 2),
        "max_weight": float(weights.max(1).mean()),
        "entropy": float(-terms.sum() / len(query)),
    }


@form(CH2, "attention_jacobian")
def _(query, key):
    """By second moments."""
    root = math.sqrt(len(query))
    p = _softmax_by_twos(key @ query / root)
    output = p @ key
    return ((p[:, None] * key).T @ key - np.outer(output, output)) / root


@form(CH2, "attention")
def _(query, key, value, mask=None):
    root = query.shape[-1] ** 0.25
    scores = (query / root) @ (key / root).mT
    allowed = torch.ones((), dtype=torch.bool) if mask is None else mask
    highest = scores.masked_fill(~allowed, -1e30).amax(-1, keepdim=True)
    shares = (scores - highest).clamp(max=0).exp() * allowed
    total = shares.sum(-1, keepdim=True)
    weights = shares / total.where(total > 0, 1)
    return (shares @ value) / total.where(total > 0, 1), weights


# Multi-head attention -------------------------------------------------------------------------------

CH3 = "ch3_multi_head"


@form(CH3, "MultiHeadAttention")
class _(MultiHeadAttention):
    """The terms of all heads are added up."""

    def forward(self, query, key, value, mask=None):
        output, weights = self.attention(
            *(
                split_heads(layer(x), self.n_heads)
                for layer, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
            ),
            mask,
        )
        parts = self.w_o.weight.chunk(self.n_heads, dim=1)
        total = sum(output[:, h] @ part.mT for h, part in enumerate(parts))
        return (total if self.w_o.bias is None else total + self.w_o.bias), weights


def _head_outputs(mha, query, key, value, mask):
    parts = ((mha.w_q, query), (mha.w_k, key), (mha.w_v, value))
    return mha.attention(*(split_heads(layer(x), mha.n_heads) for layer, x in parts), mask)[0]


@form(CH3, "head_contribution")
def _(mha, query, key, value, head, mask=None):
    """What is lost when the head's output is taken away."""
    outputs = _head_outputs(mha, query, key, value, mask)
    others = outputs * (torch.arange(mha.n_heads) != head)[:, None, None]
    return mha.w_o(merge_heads(outputs)) - mha.w_o(merge_heads(others))


@form(CH3, "grouped_query_attention")
def _(query, key, value, mask=None):
    H, G, d = query.shape[1], key.shape[1], query.shape[-1]
    if H % G:
        raise ValueError
    scores = torch.einsum("bgjtd,bgsd->bgjts", query.unflatten(1, (G, H // G)), key).flatten(1, 2)
    scores = scores / math.sqrt(d)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    weights = scores.softmax(-1) if mask is None else scores.softmax(-1) * mask
    shared = weights.unflatten(1, (G, H // G))
    return torch.einsum("bgjts,bgsd->bgjtd", shared, value).flatten(1, 2), weights


# Masking --------------------------------------------------------------------------------------------

CH4 = "ch4_masking"


@form(CH4, "masked_softmax")
def _(scores, mask):
    if mask is None:
        return scores.log_softmax(-1).exp()
    mask = mask.expand(scores.shape)
    empty = ~mask.any(-1, keepdim=True)
    hidden = scores.masked_fill(~mask & ~empty, -torch.inf)
    return (hidden - hidden.logsumexp(-1, keepdim=True)).exp().masked_fill(empty, 0)


def _real(logits, targets, pad):
    real = targets != pad
    return logits[real], targets[real]


@form(CH4, "masked_cross_entropy")
def _(logits, targets, pad):
    logits, targets = _real(logits, targets, pad)
    ahead = logits - logits.gather(-1, targets[:, None])
    return ahead.logsumexp(-1).sum() / len(targets)


# Positions ------------------------------------------------------------------------------------------

CH5 = "ch5_positional_encoding"


def _frequencies(width, base, dtype):
    return base ** -(torch.arange(0, width, 2, dtype=dtype) / width)


def _odd(width):
    if width % 2:
        raise ValueError


@form(CH5, "sinusoidal")
def _(n_positions, d_model, base=10000.0):
    """As most programs do it, in float32, with an exponential of a logarithm."""
    _odd(d_model)
    table = torch.zeros(n_positions, d_model)
    rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    angles = torch.arange(n_positions)[:, None] * rates
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


@form(CH5, "shift_matrix")
def _(delta, d_model, base=10000.0):
    angles = delta * _frequencies(d_model, base, torch.float32)
    matrix = torch.zeros(d_model, d_model)
    for i, angle in enumerate(angles):
        sin, cos = angle.sin(), angle.cos()
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return matrix


@form(CH5, "rope")
def _(x, positions, theta=10000.0):
    """Angles in float32."""
    rates = _frequencies(x.shape[-1], theta, torch.float32)
    angles = positions[..., None].float() * rates
    cos, sin = (f(angles).repeat_interleave(2, -1).to(x.dtype) for f in (torch.cos, torch.sin))
    turned = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return x * cos + turned * sin


@form(CH5, "alibi_bias")
def _(n_heads, T):
    slopes = torch.exp(-8 * math.log(2) * torch.arange(1, n_heads + 1).double() / n_heads)
    distance = torch.cdist(torch.arange(T).double()[:, None], torch.arange(T).double()[:, None], 1)
    return -torch.einsum("h,ij->hij", slopes, distance)


# The Transformer ------------------------------------------------------------------------------------

CH6 = "ch6_transformer"


@form(CH6, "FeedForward")
class _(FeedForward):
    """In float64, and back at the end."""

    def forward(self, x):
        first, second = self.linear1, self.linear2
        hidden = F.relu(F.linear(x.double(), first.weight.double(), first.bias.double()))
        return F.linear(
            F.dropout(hidden, self.dropout.p, self.training),
            second.weight.double(),
            second.bias.double(),
        ).to(x.dtype)


def _by_moments(norm, x):
    mean = x.mean(-1, keepdim=True)
    variance = x.square().mean(-1, keepdim=True) - mean.square()
    return (x - mean) * (variance + norm.eps).rsqrt() * norm.weight + norm.bias


@form(CH6, "EncoderLayer")
class _(EncoderLayer):
    def forward(self, x, mask=None):
        parts = (
            (self.norm1, lambda y: self.self_attention(y, y, y, mask)[0]),
            (self.norm2, self.feed_forward),
        )
        for norm, part in parts:
            if self.norm_first:
                x = self.dropout(part(_by_moments(norm, x))) + x
            else:
                x = _by_moments(norm, self.dropout(part(x)) + x)
        return x


@form(CH6, "DecoderLayer")
class _(DecoderLayer):
    def forward(self, y, memory, target_mask=None, memory_mask=None):
        parts = (
            (self.norm1, lambda x: self.self_attention(x, x, x, target_mask)[0]),
            (self.norm2, lambda x: self.cross_attention(x, memory, memory, memory_mask)[0]),
            (self.norm3, self.feed_forward),
        )
        for norm, part in parts:
            if self.norm_first:
                y = self.dropout(part(_by_moments(norm, y))) + y
            else:
                y = _by_moments(norm, self.dropout(part(y)) + y)
        return y


# Training -------------------------------------------------------------------------------------------

CH7 = "ch7_training"


@form(CH7, "smoothed_cross_entropy")
def _(logits, targets, smoothing, pad):
    logits, targets = _real(logits, targets, pad)
    return F.cross_entropy(logits, targets, label_smoothing=smoothing)


@form(CH7, "noam_rate")
def _(step, d_model, warmup):
    if step < 1:
        raise ValueError
    rising = math.log(step) - 1.5 * math.log(warmup)
    return math.exp(min(rising, -0.5 * math.log(step)) - 0.5 * math.log(d_model))


@form(CH7, "cached_attention")
def _(mha, x, cache=None):
    """Into tensors of the new size; the heads' parts of w_o added up."""
    query, key, value = (
        layer(x).unflatten(-1, (mha.n_heads, -1)).transpose(1, 2)
        for layer in (mha.w_q, mha.w_k, mha.w_v)
    )
    new = {}
    for name, part in (("key", key), ("value", value)):
        before = part[:, :, :0] if cache is None else cache[name]
        new[name] = part.new_zeros(*part.shape[:2], before.shape[2] + 1, part.shape[3])
        new[name][:, :, :-1], new[name][:, :, -1:] = before, part
    found = mha.attention(query, new["key"], new["value"], None)[0]
    output = sum(found[:, h] @ p.mT for h, p in enumerate(mha.w_o.weight.chunk(mha.n_heads, 1)))
    return (output if mha.w_o.bias is None else output + mha.w_o.bias), new


def _pieces(tokens, k):
    return Counter(tuple(tokens[i : i + k]) for i in range(len(tokens) - k + 1))


def _matches(hypotheses, references, k):
    pairs = [(_pieces(h, k), _pieces(r, k)) for h, r in zip(hypotheses, references, strict=True)]
    return (
        sum(min(count, right[piece]) for own, right in pairs for piece, count in own.items()),
        sum(sum(own.values()) for own, _ in pairs),
    )


@form(CH7, "corpus_bleu")
def _(hypotheses, references, n=4):
    found = np.array([_matches(hypotheses, references, k) for k in range(1, n + 1)], dtype=float)
    if not found[:, 0].all():
        return 0.0
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return float(
        100 * min(1, math.e ** (1 - r / c)) * np.prod((found[:, 0] / found[:, 1]) ** (1 / n))
    )


# A model that writes --------------------------------------------------------------------------------

CH8 = "ch8_language_model"


def _checked(temperature, top_k, top_p):
    if temperature < 0 or (top_k or 1) < 1 or top_k == 0 or not (top_p is None or 0 < top_p <= 1):
        raise ValueError


@form(CH8, "token_probabilities")
def _(logits, temperature=1.0, top_k=None, top_p=None):
    """In float64, and back at the end."""
    _checked(temperature, top_k, top_p)
    dtype = torch.float32 if logits.dtype.itemsize < 4 else logits.dtype
    ordered, tokens = logits.double().sort(dim=-1, descending=True, stable=True)
    if temperature == 0:
        temperature, top_k, top_p = 1, 1, None
    p = (ordered / temperature).log_softmax(-1).exp()
    if top_k is not None:
        p[..., top_k:] = 0
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None and top_p < 1:
        behind = p.flip(-1).cumsum(-1).flip(-1)  # of this token and those behind it
        p = p.where(behind > 1 - top_p, 0)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, tokens, p).to(dtype)


@form(CH8, "latent_attention")
def _(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    """The two parts of the scores apart."""
    packed = query @ w_uk
    scores = packed @ latent[:, None].mT + rope_query @ rope_key[:, None].mT
    scores = scores / math.sqrt(query.shape[-1] + rope_query.shape[-1])
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(~mask, -1e30).softmax(-1) * mask
    return weights @ latent[:, None] @ w_uv.mT


@form(CH8, "rope_frequencies")
def _(d, base, factor, original_length, method):
    """In float32."""
    exponents = -torch.arange(0, d, 2) / d
    theta = base**exponents
    if method == "linear":
        return theta / factor
    if method == "ntk":
        return (base * factor ** (d / (d - 2))) ** exponents
    if method != "yarn":
        raise ValueError
    ramp = ((original_length * theta / (2 * math.pi) - 1) / 31).clamp(0, 1)
    return theta / factor * (1 - ramp + ramp * factor)


@form(CH8, "speculative_step")
def _(draft, p_draft, p_target, uniforms):
    """Quotients as they are, and sums of all probabilities up to a token."""

    def drawn(p, u):
        return int(torch.searchsorted(p.cumsum(0), u, right=True))

    tokens = []
    for i, guess in enumerate(draft.tolist()):
        if uniforms[2 * i] >= p_target[i, guess] / p_draft[i, guess]:
            left = (p_target[i] - p_draft[i]).clamp(min=0)
            return torch.tensor([*tokens, drawn(left / left.sum(), uniforms[2 * i + 1])])
        tokens.append(guess)
    return torch.tensor([*tokens, drawn(p_target[-1], uniforms[2 * len(draft) + 1])])


# Attention in tiles ---------------------------------------------------------------------------------

CH9 = "ch9_flash_attention"


@form(CH9, "merge")
def _(a, b):
    lse = torch.stack([a[1], b[1]]).logsumexp(0)
    first = torch.sigmoid(a[1] - b[1]).nan_to_num(0)[..., None]
    output = torch.lerp(b[0], a[0], first)
    return output.where(~lse.isneginf()[..., None], 0), lse


@form(CH9, "flash_forward")
def _(query, key, value, block_q, block_k, causal=False):
    """The output is kept normalised, and tiles are joined by their log-sum-exp."""
    dtype = torch.promote_types(query.dtype, torch.float32)
    T, S = query.shape[-2], key.shape[-2]
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=dtype)
    lse = torch.full(query.shape[:-1], -torch.inf, dtype=dtype)
    for start in range(0, S, block_k):
        for first in range(0, T, block_q):
            rows = torch.arange(first, min(first + block_q, T))
            columns = torch.arange(start, min(start + block_k, S))
            scores = (query[..., rows, :].to(dtype) / query.shape[-1] ** 0.5) @ key[
                ..., columns, :
            ].to(dtype).mT
            if causal:
                scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)
            own = scores.logsumexp(-1)
            new = torch.logaddexp(lse[..., rows], own)
            shift = new.masked_fill(new.isneginf(), 0)
            fresh = (scores - shift[..., None]).exp() @ value[..., columns, :].to(dtype)
            kept = (lse[..., rows] - shift).exp()[..., None] * output[..., rows, :]
            output[..., rows, :], lse[..., rows] = kept + fresh, new
    return output.to(query.dtype), lse


@form(CH9, "flash_backward")
def _(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    """One query after the other."""
    dq, dk, dv = (torch.zeros(x.shape, dtype=query.dtype) for x in (query, key, value))
    T, S, scale = query.shape[-2], key.shape[-2], query.shape[-1] ** -0.5
    for t in range(T):
        q, g, o = (x[..., t : t + 1, :] for x in (query, grad, output))
        scores = q @ key.mT / math.sqrt(query.shape[-1])
        if causal:
            scores = scores.masked_fill(torch.arange(S) > t + S - T, -torch.inf)
        own = lse[..., t : t + 1, None]
        weights = (scores - own.masked_fill(own.isneginf(), 0)).exp()
        dscores = weights * (g @ value.mT - (g * o).sum(-1, keepdim=True))
        dq[..., t : t + 1, :] = scale * (dscores @ key)
        dk, dv = dk + scale * (dscores.mT @ q), dv + weights.mT @ g
    return dq, dk, dv


def _text(pages, table, length):
    """The slots of one text, (H, length, width)."""
    page = pages.shape[2]
    return torch.stack([pages[table[s // page], :, s % page] for s in range(length)], 1)


def _token_by_token(q, k, v):
    """With the largest score so far."""
    highest, total, output = torch.full(q.shape[:1], -torch.inf, dtype=q.dtype), 0, 0
    for s in range(k.shape[1]):
        score = (q * k[:, s]).sum(-1) / math.sqrt(q.shape[-1])
        new = torch.maximum(highest, score)
        kept, fresh = (highest - new).exp(), (score - new).exp()
        total = kept * total + fresh
        output = kept[:, None] * output + fresh[:, None] * v[:, s]
        highest = new
    return output / total[:, None]


@form(CH9, "paged_attention")
def _(query, key_pages, value_pages, table, lengths):
    outputs = []
    for q, row, length in zip(query, table, lengths.tolist(), strict=True):
        if length:
            k, v = _text(key_pages, row, length), _text(value_pages, row, length)
            outputs.append(_token_by_token(q, k, v))
        else:
            outputs.append(query.new_zeros(query.shape[1], value_pages.shape[-1]))
    return torch.stack(outputs)


@form(CH9, "linear_attention_chunked")
def _(query, key, value, chunk):
    """Running sums within a chunk."""
    state = torch.zeros(*key.shape[:-2], key.shape[-1], value.shape[-1], dtype=value.dtype)
    outputs = []
    for q, k, v in zip(*(x.split(chunk, -2) for x in (query, key, value)), strict=True):
        states = state[..., None, :, :] + torch.einsum("...td,...tv->...tdv", k, v).cumsum(-3)
        outputs.append(torch.einsum("...td,...tdv->...tv", q, states))
        state = states[..., -1, :, :]
    return torch.cat(outputs, -2), state


# Circuits -------------------------------------------------------------------------------------------

CH10 = "ch10_circuits"


@form(CH10, "prefix_matching")
def _(weights, tokens):
    """In float64, and back at the end."""
    earlier = torch.tril(tokens[:, None] == tokens, diagonal=-1)
    counts = earlier.any(1).double()
    moved = F.pad(earlier, (1, 0))[:, :-1].double()
    scores = (weights.double() * moved).sum((1, 2)) / max(counts.sum().item(), 1)
    return scores.to(weights.dtype)


@form(CH10, "ov_circuit")
def _(w_e, w_v, w_o, w_u):
    return torch.stack([w_u @ (w_o @ (w_v @ embedding)) for embedding in w_e])


@form(CH10, "copying")
def _(ov):
    if not ov.any():
        return 0.0
    values = np.linalg.eigvals(ov.numpy())
    return float(values.sum().real / np.sqrt(values.real**2 + values.imag**2).sum())


@form(CH10, "logit_attribution")
def _(parts, scale, w_u, targets):
    return torch.einsum("ntd,td->nt", parts / scale[:, None], w_u[targets])


@form(CH10, "restored")
def _(clean, corrupted, patched, right, wrong):
    low, found, high = (
        math.fsum(
            (x[i, r] - x[i, w]).item() for i, (r, w) in enumerate(zip(right, wrong, strict=True))
        )
        for x in (corrupted, patched, clean)
    )
    if low == high:
        raise ValueError
    return found / (high - low) - low / (high - low)


@form(CH10, "composition")
def _(w_a, w_b):
    """By singular values."""
    sizes = [torch.linalg.svdvals(w).norm() for w in (w_b @ w_a, w_a, w_b)]
    return (sizes[0] / sizes[1] / sizes[2]).item() if sizes[1] > 0 and sizes[2] > 0 else 0.0


@form(CH10, "mean_ablated")
def _(run, tokens, layer, head, reference):
    """The mean of the differences from the first text."""
    added = run.trace(reference).added[layer, :, head]
    average = added[0] + (added - added[0]).mean(dim=0)
    return run(tokens, replace={(layer, head): lambda added: average.expand_as(added)})
