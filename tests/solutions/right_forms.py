"""Right answers that round differently: three ways, written by hand, to compute what is asked for.

Each is what somebody might write who knows the formula: another order of operations, sums of squares in
place of sums of differences, logarithms in place of quotients, one number after the other.
"""

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from solutions.ch2_scaled_dot_product import attention
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
    joined = np.concatenate([np.repeat(query[:, None], key.shape[1], 1), key], axis=-1)
    return np.einsum("bsa,a->bs", np.tanh(joined @ np.concatenate([w_q, w_k], axis=1).T), v)


@form(CH1, "additive_scores")
def _(query, key, w_q, w_k, v):
    """By exponentials: tanh x = 1 - 2 / (exp 2x + 1)."""
    hidden = np.einsum("ad,bd->ba", w_q, query)[:, None] + np.einsum("ad,bsd->bsa", w_k, key)
    with np.errstate(over="ignore"):
        return ((1 - 2 / (np.exp(2 * hidden) + 1)) * v).sum(-1)


@form(CH1, "additive_scores")
def _(query, key, w_q, w_k, v):
    return np.array(
        [
            [math.fsum(v * np.tanh(w_q @ q + w_k @ k)) for k in keys]
            for q, keys in zip(query, key, strict=True)
        ]
    )


@form(CH1, "attend")
def _(scores, value, mask=None):
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))
    return (weights[:, None] @ value)[:, 0], weights


@form(CH1, "attend")
def _(scores, value, mask=None):
    """The numerator first, divided at the end."""
    mask = np.ones(scores.shape, bool) if mask is None else mask
    highest = np.array([row[allowed].max() for row, allowed in zip(scores, mask, strict=True)])
    shares = np.where(mask, np.exp(np.minimum(scores - highest[:, None], 0)), 0)
    total = shares.sum(-1)
    return np.einsum("bs,bsd->bd", shares, value) / total[:, None], shares / total[:, None]


@form(CH1, "attend")
def _(scores, value, mask=None):
    weights = np.zeros(scores.shape)
    for b, row in enumerate(scores):
        allowed = [s for s in range(len(row)) if mask is None or mask[b, s]]
        for s in allowed:
            with np.errstate(over="ignore"):
                weights[b, s] = 1 / math.fsum(np.exp(row[t] - row[s]) for t in allowed)
    return np.stack([w @ v for w, v in zip(weights, value, strict=True)]), weights


def _additive(weigh: Callable) -> type[nn.Module]:
    """The module, with its own way from scores and a mask to weights."""

    class AdditiveAttention(nn.Module):
        def __init__(self, d_query, d_key, d_hidden):
            super().__init__()
            self.w_q = nn.Linear(d_query, d_hidden, bias=False)
            self.w_k = nn.Linear(d_key, d_hidden, bias=False)
            self.v = nn.Linear(d_hidden, 1, bias=False)

        def forward(self, query, key, mask=None):
            hidden = torch.tanh(self.w_q(query)[:, None] + self.w_k(key))
            weights = weigh(hidden @ self.v.weight[0], mask)
            return (weights[..., None] * key).sum(1), weights

    return AdditiveAttention


@form(CH1, "AdditiveAttention")
class _(
    _additive(
        lambda scores, mask: scores.where(
            torch.tensor(True) if mask is None else mask, -torch.inf
        ).softmax(-1)
    )
):
    """With where."""


@form(CH1, "AdditiveAttention")
class _(
    _additive(
        lambda scores, mask: (
            (scores if mask is None else scores - 1e9 * ~mask).log_softmax(-1).exp()
        )
    )
):
    """A thousand million taken off, then logarithms."""


def _normalised(scores, mask):
    shares = (
        (scores - (scores if mask is None else scores.masked_fill(~mask, -1e30)).amax(-1, True))
        .clamp(max=0)
        .exp()
    )
    shares = shares if mask is None else shares * mask
    return shares / shares.sum(-1, keepdim=True)


@form(CH1, "AdditiveAttention")
class _(_additive(_normalised)):
    """The exponentials are normalised after the mask."""


# Scaled dot-product attention -----------------------------------------------------------------------

CH2 = "ch2_scaled_dot_product"


def _softmax_by_logarithms(x, axis=-1):
    x = np.asarray(x, dtype=float)
    return np.exp(x - np.logaddexp.reduce(x, axis=axis, keepdims=True))


def _softmax_by_twos(x, axis=-1):
    x = np.asarray(x) / math.log(2)
    powers = np.exp2(x - np.max(x, axis, keepdims=True))
    return powers * (1 / powers.sum(axis, keepdims=True))


def _softmax_from_the_middle(x, axis=-1):
    """Shifted by the maximum less 50: the exponentials are large, but finite."""
    powers = np.exp(x - np.max(x, axis, keepdims=True) + 50)
    return powers / powers.sum(axis, keepdims=True)


for _softmax in (_softmax_by_logarithms, _softmax_by_twos, _softmax_from_the_middle):
    form(CH2, "softmax")(_softmax)

    def _attention_numpy(query, key, value, mask=None, softmax=_softmax):
        scores = np.einsum("...td,...sd->...ts", query / math.sqrt(query.shape[-1]), key)
        if mask is None:
            weights = softmax(scores)
        else:
            weights = np.where(mask, softmax(np.where(mask, scores, -1e30)), 0)
        return weights @ value, weights

    form(CH2, "attention_numpy")(_attention_numpy)

    def _score_statistics(query, key, scale, softmax=_softmax):
        scores = scale * np.einsum("md,nd->mn", query, key)
        weights = softmax(scores)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(weights > 0, weights * np.log(weights), 0)
        return {
            "variance": float((scores**2).mean() - scores.mean() ** 2),
            "max_weight": float(weights.max(1).mean()),
            "entropy": float(-terms.sum() / len(query)),
        }

    form(CH2, "score_statistics")(_score_statistics)

    def _by_second_moments(query, key, softmax=_softmax):
        root = math.sqrt(len(query))
        p = softmax(key @ query / root)
        output = p @ key
        return ((p[:, None] * key).T @ key - np.outer(output, output)) / root

    form(CH2, "attention_jacobian")(_by_second_moments)

    def _by_pairs(query, key, softmax=_softmax):
        """The covariance as half the mean square of the differences of all pairs."""
        root = math.sqrt(len(query))
        p = softmax(key @ query / root)
        apart = key[:, None] - key
        return np.einsum("s,t,sti,stj->ij", p, p, apart, apart) / 2 / root

    form(CH2, "attention_jacobian")(_by_pairs)


@form(CH2, "attention")
def _(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


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


@form(CH2, "attention")
def _(query, key, value, mask=None):
    scores = (query[..., :, None, :] * key[..., None, :, :]).sum(-1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.where(mask, torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.where(mask, 0)
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights


# Multi-head attention -------------------------------------------------------------------------------

CH3 = "ch3_multi_head"


class _Heads(MultiHeadAttention):
    """The layers of the reference, so that a form needs only its own way to compute."""


@form(CH3, "MultiHeadAttention")
class _(_Heads):
    def forward(self, query, key, value, mask=None):
        def heads(x):
            return x.unflatten(-1, (self.n_heads, -1)).movedim(-2, 1)

        output, weights = self.attention(
            heads(self.w_q(query)), heads(self.w_k(key)), heads(self.w_v(value)), mask
        )
        return self.w_o(output.movedim(1, -2).flatten(-2)), weights


@form(CH3, "MultiHeadAttention")
class _(_Heads):
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


@form(CH3, "MultiHeadAttention")
class _(_Heads):
    """Each head is projected by itself."""

    def forward(self, query, key, value, mask=None):
        def heads(layer, x):
            weights = layer.weight.chunk(self.n_heads)
            biases = [None] * self.n_heads if layer.bias is None else layer.bias.chunk(self.n_heads)
            return torch.stack([F.linear(x, *one) for one in zip(weights, biases, strict=True)], 1)

        output, weights = self.attention(
            heads(self.w_q, query), heads(self.w_k, key), heads(self.w_v, value), mask
        )
        return self.w_o(torch.cat(output.unbind(1), -1)), weights


def _head_outputs(mha, query, key, value, mask):
    parts = ((mha.w_q, query), (mha.w_k, key), (mha.w_v, value))
    return mha.attention(*(split_heads(layer(x), mha.n_heads) for layer, x in parts), mask)[0]


@form(CH3, "head_contribution")
def _(mha, query, key, value, head, mask=None):
    outputs = _head_outputs(mha, query, key, value, mask)
    alone = torch.zeros_like(outputs)
    alone[:, head] = outputs[:, head]
    return F.linear(merge_heads(alone), mha.w_o.weight)


@form(CH3, "head_contribution")
def _(mha, query, key, value, head, mask=None):
    part = mha.w_o.weight.unflatten(1, (mha.n_heads, -1))[:, head]
    outputs = _head_outputs(mha, query, key, value, mask)
    return torch.einsum("btd,od->bto", outputs[:, head], part)


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


@form(CH3, "grouped_query_attention")
def _(query, key, value, mask=None):
    H, G = query.shape[1], key.shape[1]
    if H % G:
        raise ValueError
    chosen = torch.arange(H) // (H // G)
    return attention(query, key[:, chosen], value[:, chosen], mask)


@form(CH3, "grouped_query_attention")
def _(query, key, value, mask=None):
    H, G = query.shape[1], key.shape[1]
    if H % G:
        raise ValueError
    whole = None if mask is None else mask.expand(len(query), H, query.shape[2], key.shape[2])
    found = [
        attention(
            query[:, h],
            key[:, h * G // H],
            value[:, h * G // H],
            whole if whole is None else whole[:, h],
        )
        for h in range(H)
    ]
    outputs, weights = zip(*found, strict=True)
    return torch.stack(outputs, 1), torch.stack(weights, 1)


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


@form(CH4, "masked_softmax")
def _(scores, mask):
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    lowest = torch.finfo(scores.dtype).min
    highest = scores.masked_fill(~mask, lowest).amax(-1, keepdim=True)
    wide = scores.double()
    shares = (wide - highest).clamp(max=0).exp() * mask
    return (shares / shares.sum(-1, keepdim=True).clamp(min=1e-300)).to(scores)


@form(CH4, "masked_softmax")
def _(scores, mask):
    if mask is None:
        return F.softmax(scores, -1)
    wide = scores.to(torch.float64)
    weights = F.softmax(torch.where(mask, wide, -1e30), -1)
    return torch.where(mask, weights, 0.0).to(scores.dtype)


def _real(logits, targets, pad):
    real = targets != pad
    return logits[real], targets[real]


@form(CH4, "masked_cross_entropy")
def _(logits, targets, pad):
    logits, targets = _real(logits, targets, pad)
    return (logits.logsumexp(-1) - logits.gather(-1, targets[:, None])[:, 0]).mean()


@form(CH4, "masked_cross_entropy")
def _(logits, targets, pad):
    logits, targets = _real(logits, targets, pad)
    ahead = logits - logits.gather(-1, targets[:, None])
    return ahead.logsumexp(-1).sum() / len(targets)


@form(CH4, "masked_cross_entropy")
def _(logits, targets, pad):
    logits, targets = _real(logits, targets, pad)
    return -(F.one_hot(targets, logits.shape[-1]) * logits.log_softmax(-1)).sum(-1).mean()


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


@form(CH5, "sinusoidal")
def _(n_positions, d_model, base=10000.0):
    """Powers of a complex number, one after the other."""
    _odd(d_model)
    turn = torch.polar(
        torch.ones(d_model // 2).double(), _frequencies(d_model, base, torch.float64)
    )
    rows = [torch.ones_like(turn)]
    for _ in range(n_positions - 1):
        rows.append(rows[-1] * turn)
    table = torch.stack(rows)
    return torch.stack([table.imag, table.real], -1).flatten(1)


@form(CH5, "sinusoidal")
def _(n_positions, d_model, base=10000.0):
    _odd(d_model)
    table = [
        [
            (math.cos if column % 2 else math.sin)(p / base ** ((column - column % 2) / d_model))
            for column in range(d_model)
        ]
        for p in range(n_positions)
    ]
    return torch.tensor(table)


@form(CH5, "shift_matrix")
def _(delta, d_model, base=10000.0):
    angles = delta * _frequencies(d_model, base, torch.float32)
    matrix = torch.zeros(d_model, d_model)
    for i, angle in enumerate(angles):
        sin, cos = angle.sin(), angle.cos()
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return matrix


@form(CH5, "shift_matrix")
def _(delta, d_model, base=10000.0):
    """The exponential of a skew-symmetric matrix, times itself."""
    rates = _frequencies(d_model, base, torch.float64) * (-1 if delta < 0 else 1)
    generator = torch.block_diag(*(r * torch.tensor([[0.0, 1], [-1, 0]]).double() for r in rates))
    return torch.linalg.matrix_power(torch.matrix_exp(generator), abs(delta))


@form(CH5, "shift_matrix")
def _(delta, d_model, base=10000.0):
    cos, sin = (
        [f(delta / base ** (2 * i / d_model)) for i in range(d_model // 2)]
        for f in (math.cos, math.sin)
    )
    matrix = np.zeros((d_model, d_model))
    even = np.arange(0, d_model, 2)
    matrix[even, even] = matrix[even + 1, even + 1] = cos
    matrix[even, even + 1], matrix[even + 1, even] = sin, np.negative(sin)
    return torch.from_numpy(matrix)


@form(CH5, "rope")
def _(x, positions, theta=10000.0):
    """Angles in float32."""
    rates = _frequencies(x.shape[-1], theta, torch.float32)
    angles = positions[..., None].float() * rates
    cos, sin = (f(angles).repeat_interleave(2, -1).to(x.dtype) for f in (torch.cos, torch.sin))
    turned = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return x * cos + turned * sin


@form(CH5, "rope")
def _(x, positions, theta=10000.0):
    """Complex numbers."""
    wide = x.double() if x.dtype.itemsize < 4 else x
    pairs = torch.complex(wide[..., 0::2].contiguous(), wide[..., 1::2].contiguous())
    angles = positions[..., None].double() * _frequencies(x.shape[-1], theta, torch.float64)
    turned = pairs * torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


@form(CH5, "rope")
def _(x, positions, theta=10000.0):
    """Matrices of two rows and columns."""
    angles = positions[..., None] * _frequencies(x.shape[-1], theta, torch.float64)
    cos, sin = angles.cos(), angles.sin()
    matrices = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    turned = matrices @ x.double().unflatten(-1, (-1, 2))[..., None]
    return turned[..., 0].flatten(-2).to(x.dtype)


@form(CH5, "alibi_bias")
def _(n_heads, T):
    ratio = 2 ** (-8 / n_heads)
    slopes = torch.tensor([ratio**h for h in range(1, n_heads + 1)])
    steps = torch.arange(T)
    return -(slopes.view(-1, 1, 1) * (steps[None] - steps[:, None]).abs())


@form(CH5, "alibi_bias")
def _(n_heads, T):
    slopes = torch.exp(-8 * math.log(2) * torch.arange(1, n_heads + 1).double() / n_heads)
    distance = torch.cdist(torch.arange(T).double()[:, None], torch.arange(T).double()[:, None], 1)
    return -torch.einsum("h,ij->hij", slopes, distance)


@form(CH5, "alibi_bias")
def _(n_heads, T):
    bias = np.zeros((n_heads, T, T), dtype=np.float32)
    for h in range(n_heads):
        for i in range(T):
            for j in range(T):
                bias[h, i, j] = -abs(i - j) / 2 ** (8 * (h + 1) / n_heads)
    return torch.from_numpy(bias)


# The Transformer ------------------------------------------------------------------------------------

CH6 = "ch6_transformer"


@form(CH6, "FeedForward")
class _(FeedForward):
    def forward(self, x):
        return (
            self.dropout((x @ self.linear1.weight.mT + self.linear1.bias).clamp(min=0))
            @ (self.linear2.weight.mT)
            + self.linear2.bias
        )


@form(CH6, "FeedForward")
class _(FeedForward):
    def forward(self, x):
        hidden = torch.einsum("...d,fd->...f", x, self.linear1.weight) + self.linear1.bias
        hidden = (hidden + hidden.abs()) / 2
        return torch.einsum("...f,df->...d", self.dropout(hidden), self.linear2.weight) + (
            self.linear2.bias
        )


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


def _by_differences(norm, x):
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred / (variance + norm.eps).sqrt() * norm.weight + norm.bias


def _by_moments(norm, x):
    mean = x.mean(-1, keepdim=True)
    variance = x.square().mean(-1, keepdim=True) - mean.square()
    return (x - mean) * (variance + norm.eps).rsqrt() * norm.weight + norm.bias


def _by_var(norm, x):
    spread = x.var(-1, unbiased=False, keepdim=True) + norm.eps
    return torch.addcmul(norm.bias, norm.weight, (x - x.mean(-1, keepdim=True)) / spread**0.5)


for _norm in (_by_differences, _by_moments, _by_var):

    @form(CH6, "EncoderLayer")
    class _(EncoderLayer):
        normed = staticmethod(_norm)

        def forward(self, x, mask=None):
            parts = (
                (self.norm1, lambda y: self.self_attention(y, y, y, mask)[0]),
                (self.norm2, self.feed_forward),
            )
            for norm, part in parts:
                if self.norm_first:
                    x = self.dropout(part(self.normed(norm, x))) + x
                else:
                    x = self.normed(norm, self.dropout(part(x)) + x)
            return x

    @form(CH6, "DecoderLayer")
    class _(DecoderLayer):
        normed = staticmethod(_norm)

        def forward(self, y, memory, target_mask=None, memory_mask=None):
            parts = (
                (self.norm1, lambda x: self.self_attention(x, x, x, target_mask)[0]),
                (self.norm2, lambda x: self.cross_attention(x, memory, memory, memory_mask)[0]),
                (self.norm3, self.feed_forward),
            )
            for norm, part in parts:
                if self.norm_first:
                    y = self.dropout(part(self.normed(norm, y))) + y
                else:
                    y = self.normed(norm, self.dropout(part(y)) + y)
            return y


# Training -------------------------------------------------------------------------------------------

CH7 = "ch7_training"


@form(CH7, "smoothed_cross_entropy")
def _(logits, targets, smoothing, pad):
    logits, targets = _real(logits, targets, pad)
    return F.cross_entropy(logits, targets, label_smoothing=smoothing)


@form(CH7, "smoothed_cross_entropy")
def _(logits, targets, smoothing, pad):
    logits, targets = _real(logits, targets, pad)
    V = logits.shape[-1]
    wanted = torch.full_like(logits, smoothing / V)
    wanted.scatter_(-1, targets[:, None], 1 - smoothing + smoothing / V)
    return (logits.logsumexp(-1) - (wanted * logits).sum(-1)).mean()


@form(CH7, "smoothed_cross_entropy")
def _(logits, targets, smoothing, pad):
    logits, targets = _real(logits, targets, pad)
    log_p = logits - logits.max(-1, keepdim=True)[0]
    log_p = log_p - log_p.exp().sum(-1, keepdim=True).log()
    right = log_p[torch.arange(len(targets)), targets]
    return -(right + smoothing * (log_p.mean(-1) - right)).sum() / len(targets)


@form(CH7, "noam_rate")
def _(step, d_model, warmup):
    if step < 1:
        raise ValueError
    return 1 / math.sqrt(d_model) * (step / warmup**1.5 if step < warmup else 1 / math.sqrt(step))


@form(CH7, "noam_rate")
def _(step, d_model, warmup):
    if step < 1:
        raise ValueError
    rising = math.log(step) - 1.5 * math.log(warmup)
    return math.exp(min(rising, -0.5 * math.log(step)) - 0.5 * math.log(d_model))


@form(CH7, "noam_rate")
def _(step, d_model, warmup):
    if step < 1:
        raise ValueError
    return float(np.float64(d_model * max(step, warmup)) ** -0.5 * min(1, step / warmup))


@form(CH7, "cached_attention")
def _(mha, x, cache=None):
    """One product for the three projections."""
    layers = mha.w_q, mha.w_k, mha.w_v
    biases = None if mha.w_q.bias is None else torch.cat([layer.bias for layer in layers])
    together = F.linear(x, torch.cat([layer.weight for layer in layers]), biases)
    query, key, value = (split_heads(part, mha.n_heads) for part in together.chunk(3, -1))
    if cache is not None:
        key, value = torch.cat([cache["key"], key], 2), torch.cat([cache["value"], value], 2)
    seen = torch.ones(1, key.shape[2], dtype=torch.bool)
    return mha.w_o(merge_heads(mha.attention(query, key, value, seen)[0])), {
        "key": key,
        "value": value,
    }


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


@form(CH7, "cached_attention")
def _(mha, x, cache=None):
    """Head by head."""
    parts = [split_heads(layer(x), mha.n_heads) for layer in (mha.w_q, mha.w_k, mha.w_v)]
    old = cache or {"key": parts[1][:, :, :0], "value": parts[2][:, :, :0]}
    new = {
        name: torch.concat((old[name], part), dim=-2)
        for name, part in zip(("key", "value"), parts[1:], strict=True)
    }
    heads = [
        mha.attention(parts[0][:, [h]], new["key"][:, [h]], new["value"][:, [h]], None)[0][:, 0]
        for h in range(mha.n_heads)
    ]
    return mha.w_o(torch.cat(heads, -1)), new


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
    found = [_matches(hypotheses, references, k) for k in range(1, n + 1)]
    if any(matched == 0 for matched, _ in found):
        return 0.0
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    logarithm = sum(math.log(matched / count) for matched, count in found) / n
    return 100 * math.exp(min(0, 1 - r / c) + logarithm)


@form(CH7, "corpus_bleu")
def _(hypotheses, references, n=4):
    found = np.array([_matches(hypotheses, references, k) for k in range(1, n + 1)], dtype=float)
    if not found[:, 0].all():
        return 0.0
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return float(
        100 * min(1, math.e ** (1 - r / c)) * np.prod((found[:, 0] / found[:, 1]) ** (1 / n))
    )


@form(CH7, "corpus_bleu")
def _(hypotheses, references, n=4):
    found = [_matches(hypotheses, references, k) for k in range(1, n + 1)]
    above, below = math.prod(m for m, _ in found), math.prod(c for _, c in found)
    if not above:
        return 0.0
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return (1.0 if c >= r else math.exp((c - r) / c)) * 100 * (above / below) ** (1 / n)


# A model that writes --------------------------------------------------------------------------------

CH8 = "ch8_language_model"


def _checked(temperature, top_k, top_p):
    if temperature < 0 or (top_k or 1) < 1 or top_k == 0 or not (top_p is None or 0 < top_p <= 1):
        raise ValueError


@form(CH8, "token_probabilities")
def _(logits, temperature=1.0, top_k=None, top_p=None):
    """Row by row, with lists."""
    _checked(temperature, top_k, top_p)
    logits = logits.float() if logits.dtype.itemsize < 4 else logits
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        order = sorted(range(len(row)), key=lambda i: (-row[i].item(), i))
        p = torch.softmax(row / (temperature or 1), 0)
        order = order[: 1 if temperature == 0 else top_k]
        if top_p is not None and temperature:
            total, kept, whole = 0.0, [], p[order].sum().item()
            for token in order:
                if kept and total >= top_p * whole:
                    break
                kept.append(token)
                total += p[token].item()
            order = order if top_p == 1 else kept
        new = torch.zeros_like(p)
        new[order] = p[order]
        rows.append(new / new.sum())
    return torch.stack(rows).reshape(logits.shape)


@form(CH8, "token_probabilities")
def _(logits, temperature=1.0, top_k=None, top_p=None):
    """Everything that goes becomes minus infinity, and one softmax comes last."""
    _checked(temperature, top_k, top_p)
    logits = logits.float() if logits.dtype.itemsize < 4 else logits
    ranks = logits.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    if temperature == 0:
        return (ranks == 0).to(logits.dtype)
    logits = logits / temperature
    if top_k is not None:
        logits = logits.masked_fill(ranks >= top_k, -torch.inf)
    if top_p is not None and top_p < 1:
        p = logits.softmax(-1)
        ordered, places = p.sort(dim=-1, descending=True, stable=True)
        first = torch.cat([torch.zeros_like(ordered[..., :1]), ordered.cumsum(-1)[..., :-1]], -1)
        gone = torch.zeros_like(p, dtype=torch.bool).scatter(-1, places, first >= top_p)
        logits = logits.masked_fill(gone, -torch.inf)
    return logits.softmax(-1)


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
    """Everything unpacked."""
    keys = torch.einsum("bsr,hnr->bhsn", latent, w_uk)
    shared = rope_key[:, None].expand(-1, len(w_uk), -1, -1)
    values = torch.einsum("bsr,hvr->bhsv", latent, w_uv)
    queries = torch.cat([query, rope_query], -1)
    return attention(queries, torch.cat([keys, shared], -1), values, mask)[0]


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


@form(CH8, "latent_attention")
def _(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    """Values unpacked, keys not; head by head."""
    root = math.sqrt(query.shape[-1] + rope_query.shape[-1])
    B, H, T, _ = query.shape
    whole = None if mask is None else mask.expand(B, H, T, latent.shape[1])
    outputs = []
    for h in range(H):
        scores = ((query[:, h] @ w_uk[h]) @ latent.mT + rope_query[:, h] @ rope_key.mT) / root
        if whole is not None:
            scores = scores.where(whole[:, h], torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1) if whole is None else scores.softmax(-1) * whole[:, h]
        outputs.append(weights @ (latent @ w_uv[h].T))
    return torch.stack(outputs, 1)


def _stretched(theta, base, d, factor, length, method, exponents):
    if method == "linear":
        return theta / factor
    if method == "ntk":
        return (base * factor ** (d / (d - 2))) ** exponents
    if method != "yarn":
        raise ValueError
    turns = length * theta / (2 * math.pi)
    ramp = ((turns - 1) / 31).clamp(0, 1)
    return theta / factor * (1 - ramp + ramp * factor)


@form(CH8, "rope_frequencies")
def _(d, base, factor, original_length, method):
    """In float32."""
    exponents = -torch.arange(0, d, 2) / d
    return _stretched(base**exponents, base, d, factor, original_length, method, exponents)


@form(CH8, "rope_frequencies")
def _(d, base, factor, original_length, method):
    exponents = torch.linspace(0, -1 + 2 / d, d // 2, dtype=torch.float64)
    theta = (exponents * math.log(base)).exp()
    return _stretched(theta, base, d, factor, original_length, method, exponents)


@form(CH8, "rope_frequencies")
def _(d, base, factor, original_length, method):
    found = []
    for i in range(d // 2):
        theta = 1 / base ** (2 * i / d)
        if method == "linear":
            found.append(theta / factor)
        elif method == "ntk":
            found.append(theta * factor ** (-2 * i / (d - 2)))
        elif method == "yarn":
            share = min(max((original_length * theta / 2 / math.pi - 1) / 31, 0), 1)
            found.append(theta * (share + (1 - share) / factor))
        else:
            raise ValueError(method)
    return torch.tensor(found)


def _draw(p, u):
    """The smallest token whose probability, with those before it, is above u."""
    total = 0.0
    for token, share in enumerate(p.tolist()):
        total += share
        if u < total:
            return token
    return max(token for token, share in enumerate(p.tolist()) if share > 0)


def _speculative(accepts: Callable, draw: Callable) -> Callable:
    def speculative_step(draft, p_draft, p_target, uniforms):
        tokens = []
        for i, guess in enumerate(draft.tolist()):
            if not accepts(uniforms[2 * i], p_target[i, guess], p_draft[i, guess]):
                left = (p_target[i] - p_draft[i]).clamp(min=0)
                return torch.tensor([*tokens, draw(left / left.sum(), uniforms[2 * i + 1])])
            tokens.append(guess)
        return torch.tensor([*tokens, draw(p_target[-1], uniforms[2 * len(draft) + 1])])

    return speculative_step


form(CH8, "speculative_step")(_speculative(lambda u, p, q: u < p / q, _draw))
form(CH8, "speculative_step")(
    _speculative(
        lambda u, p, q: u < min(1.0, (p / q).item()),
        lambda p, u: int(torch.searchsorted(p.cumsum(0), u, right=True)),
    )
)
form(CH8, "speculative_step")(
    _speculative(
        lambda u, p, q: u * q < p,
        lambda p, u: int(np.argmax(np.cumsum(p.numpy()) > u.item())),
    )
)


# Attention in tiles ---------------------------------------------------------------------------------

CH9 = "ch9_flash_attention"


@form(CH9, "merge")
def _(a, b):
    lse = torch.logaddexp(a[1], b[1])
    shift = lse.masked_fill(lse.isneginf(), 0)
    shares = ((one[1] - shift).exp()[..., None] * one[0] for one in (a, b))
    return sum(shares), lse


@form(CH9, "merge")
def _(a, b):
    lse = torch.stack([a[1], b[1]]).logsumexp(0)
    first = torch.sigmoid(a[1] - b[1]).nan_to_num(0)[..., None]
    output = torch.lerp(b[0], a[0], first)
    return output.where(~lse.isneginf()[..., None], 0), lse


@form(CH9, "merge")
def _(a, b):
    lses = torch.stack([a[1], b[1]], -1)
    nothing = lses.isneginf().all(-1, keepdim=True)
    weights = lses.masked_fill(nothing, 0).softmax(-1).masked_fill(nothing, 0)
    output = (weights[..., None, :] * torch.stack([a[0], b[0]], -1)).sum(-1)
    return output, torch.logsumexp(lses, -1)


def _scores(query, key, causal):
    T, S = query.shape[-2], key.shape[-2]
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if causal:
        seen = torch.arange(S) <= torch.arange(T)[:, None] + S - T
        scores = scores.masked_fill(~seen, -torch.inf)
    return scores


@form(CH9, "flash_forward")
def _(query, key, value, block_q, block_k, causal=False):
    """A tile of queries and all keys at once."""
    dtype = torch.promote_types(query.dtype, torch.float32)
    T, S = query.shape[-2], key.shape[-2]
    outputs, lses = [], []
    for first in range(0, T, block_q):
        rows = torch.arange(first, min(first + block_q, T))
        scores = query[..., rows, :].to(dtype) @ key.to(dtype).mT / math.sqrt(query.shape[-1])
        if causal:
            scores = scores.masked_fill(torch.arange(S) > rows[:, None] + S - T, -torch.inf)
        lse = scores.logsumexp(-1)
        shift = lse.masked_fill(lse.isneginf(), 0)[..., None]
        outputs.append((scores - shift).exp() @ value.to(dtype))
        lses.append(lse)
    return torch.cat(outputs, -2).to(query.dtype), torch.cat(lses, -1)


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


@form(CH9, "flash_forward")
def _(query, key, value, block_q, block_k, causal=False):
    """The largest score of each query is found first, in a pass of its own."""
    dtype = torch.promote_types(query.dtype, torch.float32)
    T, S = query.shape[-2], key.shape[-2]
    parts = []
    for first in range(0, T, block_q):
        rows = torch.arange(first, min(first + block_q, T))

        def tile(start, rows=rows):
            columns = torch.arange(start, min(start + block_k, S))
            scores = query[..., rows, :].to(dtype) @ key[..., columns, :].to(dtype).mT
            scores = scores * query.shape[-1] ** -0.5
            hidden = columns > rows[:, None] + S - T
            return columns, scores.masked_fill(hidden, -torch.inf) if causal else scores

        starts = range(0, S, block_k)
        highest = torch.stack([tile(start)[1].amax(-1) for start in starts]).amax(0)
        finite = highest.masked_fill(highest.isneginf(), 0)[..., None]
        total = sum((tile(start)[1] - finite).exp().sum(-1) for start in starts)
        added = 0
        for start in starts:
            columns, scores = tile(start)
            added = added + (scores - finite).exp() @ value[..., columns, :].to(dtype)
        parts.append((added / total.clamp(min=1)[..., None], highest + total.log()))
    outputs, lses = zip(*parts, strict=True)
    return torch.cat(outputs, -2).to(query.dtype), torch.cat(lses, -1)


def _backward_whole(query, key, value, output, lse, grad, weights, delta):
    scale = query.shape[-1] ** -0.5
    dscores = weights * (grad @ value.mT - delta)
    return scale * (dscores @ key), scale * (dscores.mT @ query), weights.mT @ grad


@form(CH9, "flash_backward")
def _(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    """One query after the other."""
    dq, dk, dv = (torch.zeros(x.shape, dtype=query.dtype) for x in (query, key, value))
    T, S = query.shape[-2], key.shape[-2]
    for t in range(T):
        q, g, o = (x[..., t : t + 1, :] for x in (query, grad, output))
        scores = q @ key.mT / math.sqrt(query.shape[-1])
        if causal:
            scores = scores.masked_fill(torch.arange(S) > t + S - T, -torch.inf)
        own = lse[..., t : t + 1, None]
        weights = (scores - own.masked_fill(own.isneginf(), 0)).exp()
        found = _backward_whole(q, key, value, o, own, g, weights, (g * o).sum(-1, keepdim=True))
        dq[..., t : t + 1, :] = found[0]
        dk, dv = dk + found[1], dv + found[2]
    return dq, dk, dv


@form(CH9, "flash_backward")
def _(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    """Tiles of keys, all queries at once; D is taken off the values' products by an einsum."""
    scale, T, S = query.shape[-1] ** -0.5, query.shape[-2], key.shape[-2]
    dq, dks, dvs = torch.zeros(query.shape, dtype=query.dtype), [], []
    delta = torch.einsum("...tj,...tj->...t", grad, output)[..., None]
    for first in range(0, S, block_k):
        k, v = key[..., first : first + block_k, :], value[..., first : first + block_k, :]
        dk, dv = torch.zeros(k.shape, dtype=k.dtype), torch.zeros(v.shape, dtype=v.dtype)
        for t in range(0, T, block_q):
            rows = torch.arange(t, min(t + block_q, T))
            scores = scale * query[..., rows, :] @ k.mT
            weights = (
                scores
                - lse[..., rows, None].clamp(min=-1e300 if lse.dtype == torch.float64 else -1e38)
            ).exp()
            if causal:
                seen = torch.arange(first, first + k.shape[-2]) <= rows[:, None] + S - T
                weights = weights.where(seen, 0)
            g = grad[..., rows, :]
            dscores = weights * (g @ v.mT) - weights * delta[..., rows, :]
            dq[..., rows, :] += dscores @ k * scale
            dk += dscores.mT @ (query[..., rows, :] * scale)
            dv += weights.mT @ g
        dks.append(dk)
        dvs.append(dv)
    return dq, torch.cat(dks, -2), torch.cat(dvs, -2)


@form(CH9, "flash_backward")
def _(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    """In float64, and back at the end."""
    dtype = query.dtype
    query, key, value, output, lse, grad = (
        x.double() for x in (query, key, value, output, lse, grad)
    )
    T, S = query.shape[-2], key.shape[-2]
    dq, dk, dv = (torch.zeros_like(x) for x in (query, key, value))
    for first in range(0, T, block_q):
        rows = torch.arange(first, min(first + block_q, T))
        own = lse[..., rows, None]
        scores = query[..., rows, :] @ key.mT / math.sqrt(query.shape[-1])
        if causal:
            scores = scores.masked_fill(torch.arange(S) > rows[:, None] + S - T, -torch.inf)
        weights = (scores - own.where(own.isfinite(), 0)).exp()
        g, o = grad[..., rows, :], output[..., rows, :]
        found = _backward_whole(
            query[..., rows, :], key, value, o, own, g, weights, (g * o).sum(-1, keepdim=True)
        )
        dq[..., rows, :], dk, dv = found[0], dk + found[1], dv + found[2]
    return dq.to(dtype), dk.to(dtype), dv.to(dtype)


def _text(pages, table, length):
    """The slots of one text, (H, length, width)."""
    page = pages.shape[2]
    return torch.stack([pages[table[s // page], :, s % page] for s in range(length)], 1)


def _paged(attend: Callable) -> Callable:
    def paged_attention(query, key_pages, value_pages, table, lengths):
        outputs = []
        for q, row, length in zip(query, table, lengths.tolist(), strict=True):
            if length:
                k, v = _text(key_pages, row, length), _text(value_pages, row, length)
                outputs.append(attend(q, k, v))
            else:
                outputs.append(query.new_zeros(query.shape[1], value_pages.shape[-1]))
        return torch.stack(outputs)

    return paged_attention


@form(CH9, "paged_attention")
def _(*given):
    return _paged(lambda q, k, v: attention(q[:, None], k, v)[0][:, 0])(*given)


@form(CH9, "paged_attention")
def _(*given):
    def attend(q, k, v):
        scores = torch.einsum("hd,hsd->hs", q, k) * q.shape[-1] ** -0.5
        return torch.einsum("hs,hsv->hv", (scores - scores.logsumexp(-1, True)).exp(), v)

    return _paged(attend)(*given)


@form(CH9, "paged_attention")
def _(*given):
    def attend(q, k, v):
        """Token by token, with the largest score so far."""
        highest, total, output = torch.full(q.shape[:1], -torch.inf, dtype=q.dtype), 0, 0
        for s in range(k.shape[1]):
            score = (q * k[:, s]).sum(-1) / math.sqrt(q.shape[-1])
            new = torch.maximum(highest, score)
            kept, fresh = (highest - new).exp(), (score - new).exp()
            total = kept * total + fresh
            output = kept[:, None] * output + fresh[:, None] * v[:, s]
            highest = new
        return output / total[:, None]

    return _paged(attend)(*given)


@form(CH9, "linear_attention_chunked")
def _(query, key, value, chunk):
    """One position after the other."""
    state = torch.zeros(*key.shape[:-2], key.shape[-1], value.shape[-1], dtype=value.dtype)
    outputs = []
    for t in range(query.shape[-2]):
        state = state + key[..., t, :, None] * value[..., t, None, :]
        outputs.append((query[..., t, None, :] @ state)[..., 0, :])
    return torch.stack(outputs, -2), state


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


@form(CH9, "linear_attention_chunked")
def _(query, key, value, chunk):
    """In float64, the state from all keys at once."""
    dtype = value.dtype
    outputs = []
    for start in range(0, query.shape[-2], chunk):
        q = query[..., start : start + chunk, :].double()
        end = start + q.shape[-2]
        seen = torch.arange(end) <= torch.arange(start, end)[:, None]
        outputs.append((q @ key[..., :end, :].double().mT * seen) @ value[..., :end, :].double())
    state = torch.einsum("...td,...tv->...dv", key.double(), value.double())
    return torch.cat(outputs, -2).to(dtype), state.to(dtype)


# Circuits -------------------------------------------------------------------------------------------

CH10 = "ch10_circuits"


@form(CH10, "prefix_matching")
def _(weights, tokens):
    H, T, _ = weights.shape
    total, count = torch.zeros(H, dtype=weights.dtype), 0
    for q in range(T):
        earlier = [p for p in range(q) if tokens[p] == tokens[q]]
        count += bool(earlier)
        for p in earlier:
            total = total + weights[:, q, p + 1]
    return total / max(count, 1)


@form(CH10, "prefix_matching")
def _(weights, tokens):
    T = len(tokens)
    same = (tokens[:, None] == tokens[None]) & (torch.arange(T)[:, None] > torch.arange(T))
    places = torch.zeros(T, T, dtype=weights.dtype)
    places[:, 1:] = same[:, :-1].to(weights.dtype)
    return torch.einsum("hqk,qk->h", weights, places) / same.any(1).sum().clamp(min=1)


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
    return (w_u @ w_o @ w_v @ w_e.T).T


@form(CH10, "ov_circuit")
def _(w_e, w_v, w_o, w_u):
    return torch.einsum("sd,hd,eh,te->st", w_e, w_v, w_o, w_u)


@form(CH10, "ov_circuit")
def _(w_e, w_v, w_o, w_u):
    return torch.stack([w_u @ (w_o @ (w_v @ embedding)) for embedding in w_e])


@form(CH10, "copying")
def _(ov):
    """The sum of the eigenvalues is the trace."""
    total = torch.linalg.eigvals(ov).abs().sum().item()
    return ov.trace().item() / total if total else 0.0


@form(CH10, "copying")
def _(ov):
    if not ov.any():
        return 0.0
    values = np.linalg.eigvals(ov.numpy())
    return float(values.sum().real / np.sqrt(values.real**2 + values.imag**2).sum())


@form(CH10, "copying")
def _(ov):
    """The eigenvalues of the transpose are the same."""
    values = torch.linalg.eig(ov.T.contiguous())[0]
    total = torch.hypot(values.real, values.imag).sum()
    return (values.real.sum() / total).item() if total > 0 else 0.0


@form(CH10, "logit_attribution")
def _(parts, scale, w_u, targets):
    return torch.einsum("ntd,td->nt", parts / scale[:, None], w_u[targets])


@form(CH10, "logit_attribution")
def _(parts, scale, w_u, targets):
    logits = parts @ w_u.T / scale[:, None]
    return logits.gather(-1, targets.expand(len(parts), -1)[..., None])[..., 0]


@form(CH10, "logit_attribution")
def _(parts, scale, w_u, targets):
    rows = [
        torch.stack([part[t] @ w_u[target] / scale[t] for t, target in enumerate(targets)])
        for part in parts
    ]
    return torch.stack(rows)


def _mean_difference(logits, right, wrong):
    return (logits.gather(1, right[:, None]) - logits.gather(1, wrong[:, None])).mean().item()


@form(CH10, "restored")
def _(clean, corrupted, patched, right, wrong):
    high, low, found = (_mean_difference(x, right, wrong) for x in (clean, corrupted, patched))
    if high - low == 0:
        raise ValueError
    return 1 - (high - found) / (high - low)


@form(CH10, "restored")
def _(clean, corrupted, patched, right, wrong):
    """The differences of the runs before the mean over the texts."""
    if _mean_difference(clean, right, wrong) == _mean_difference(corrupted, right, wrong):
        raise ValueError
    gained, whole = (_mean_difference(x - corrupted, right, wrong) for x in (patched, clean))
    return gained / whole


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
    together = (w_b @ w_a).square().sum()
    product = w_a.square().sum() * w_b.square().sum()
    return (together / product).sqrt().item() if product else 0.0


@form(CH10, "composition")
def _(w_a, w_b):
    """By traces."""
    product = (w_a @ w_a.T).trace() * (w_b.T @ w_b).trace()
    if product == 0:
        return 0.0
    return math.sqrt(((w_b.T @ w_b) @ (w_a @ w_a.T)).trace() / product)


@form(CH10, "composition")
def _(w_a, w_b):
    """By singular values."""
    sizes = [torch.linalg.svdvals(w).norm() for w in (w_b @ w_a, w_a, w_b)]
    return (sizes[0] / sizes[1] / sizes[2]).item() if sizes[1] > 0 and sizes[2] > 0 else 0.0


def _ablated(mean: Callable) -> Callable:
    def mean_ablated(run, tokens, layer, head, reference):
        average = mean(run.trace(reference).added[layer, :, head])
        return run(tokens, replace={(layer, head): lambda added: average.expand_as(added)})

    return mean_ablated


form(CH10, "mean_ablated")(_ablated(lambda added: added.sum(0) / len(added)))
form(CH10, "mean_ablated")(_ablated(lambda added: sum(one / len(added) for one in added)))
form(CH10, "mean_ablated")(_ablated(lambda added: added[0] + (added - added[0]).mean(dim=0)))
