"""What the checks of exercise 4 draw and return. The grader knows what is right."""

import torch

from autograder.checks import dtype_of, inputs_after
from solutions.ch4_masking import (
    additive,
    combine,
    from_key_padding,
    leaks,
    masked_cross_entropy,
    masked_softmax,
    padding_mask,
)


def padding_example_alone(S, lengths):
    return [padding_mask(lengths, S)[:1], padding_mask(lengths[:1], S)]


def combine_other_order(padding, causal):
    return [combine(padding, causal), combine(causal, padding)]


def combine_with_none(padding, causal):
    return [combine(padding, causal), combine(None, padding, None, causal)]


def softmax_hidden_scores(scores, mask):
    changed = torch.where(mask, scores, 3 - scores)
    return [masked_softmax(given, mask) for given in (scores, changed)]


def softmax_without_first_row(scores, mask):
    return [
        masked_softmax(scores, mask)[..., 1:, :],
        masked_softmax(scores[..., 1:, :], mask[..., 1:, :]),
    ]


def softmax_shifted_scores(scores, mask):
    return [masked_softmax(given, mask) for given in (scores, scores + 1)]


def softmax_broadcast(scores, mask, padding):
    return [
        masked_softmax(part, given)
        for part, given in [
            (scores, padding),
            (scores[:1], padding[:1]),
            (scores[:, :1, :1].contiguous(), padding),
            (scores, mask[0, 0]),
        ]
    ]


def softmax_without_mask(scores, equal):
    one_key = scores[..., :1].contiguous()
    return [masked_softmax(given, None) for given in (scores, one_key, equal)]


def with_data_type(result):
    """A result with the name of its data type."""
    return [dtype_of(result), result]


def softmax_high_hidden_scores(scores, mask):
    return [masked_softmax(given, mask) for given in (scores, scores + 1e5 * ~mask)]


def softmax_data_types(scores, names, first_empty):
    return [
        with_data_type(
            masked_softmax(scores[0].to(getattr(torch, name)), first_empty if masked else None)
        )
        for name in names
        for masked in (True, False)
    ]


def softmax_large_scores(scores, mask):
    return [
        masked_softmax(factor * scores + shift + more * ~mask, mask if masked else None)
        for factor, shift, more, masked in [
            (1e4, -1e5, 0, True),
            (2000, 0, 0, True),
            (-2000, 0, 0, True),
            (1, 0, 1e5, True),
            (2000, 0, 0, False),
        ]
    ]


def softmax_layouts(scores, with_empty):
    other_layout = torch.stack([scores.mT, -scores.mT]).mT.transpose(0, 1)
    return masked_softmax(other_layout, with_empty[:, None])


def softmax_leaves_arguments(scores, mask):
    unchanged = inputs_after(masked_softmax, scores, mask)
    own, other = scores.clone(), mask.clone()
    first = masked_softmax(own.neg_(), other.logical_not_())
    return [*unchanged, first, masked_softmax(own.neg_(), other.logical_not_())]


def in_both_data_types(mask):
    """What is to be added, and where it hides in float64."""
    return [additive(mask, torch.float32), additive(mask, torch.float64).isneginf()]


def additive_zero_or_infinity(mask):
    return in_both_data_types(mask)


def additive_sizes(padding, square):
    return [in_both_data_types(given) for given in (padding, padding[:1], square)]


def additive_data_types(mask, names):
    def bias_of(data_type):
        bias = additive(mask, data_type)
        return [dtype_of(bias), bias.float()]

    return [bias_of(getattr(torch, name)) for name in names]


def key_padding_other_order(ignore):
    return [from_key_padding(ignore).flip(-1), from_key_padding(ignore.flip(-1))]


def key_padding_example_alone(ignore):
    return [from_key_padding(ignore)[:1], from_key_padding(ignore[:1])]


def linear(matrix, B, T, E):
    """A function from (B, T, D) to (B, T, E), each entry of which is a sum over all entries."""
    return lambda x: (matrix @ x.flatten()).reshape(B, T, E)


def leaks_linear(B, E, T, x, matrix):
    return leaks(linear(matrix, B, T, E), x)


def leaks_reversed(B, E, T, x, matrix):
    return leaks(lambda x: linear(matrix, B, T, E)(x).flip(1), x)


def leaks_not_linear(B, E, T, x, matrix):
    return leaks(lambda x: linear(matrix, B, T, E)(torch.tanh(x)).atan(), x)


def leaks_small_effects(B, E, T, x, matrix):
    return leaks(lambda x: 1 + 1e-7 * linear(matrix, B, T, E)(x), x)


def leaks_running_sum(x, order):
    def in_other_order(x):
        return x[:, order[order < x.shape[1]]].cumsum(dim=1)

    parts = (x, x[:1, :, :1], x[:, :1])
    return [leaks(in_other_order, part.contiguous()) for part in parts]


def leaks_single_way(B, E, T, x, thin):
    return leaks(linear(thin, B, T, E), x)


def leaks_equal_sizes(equal, four):
    return leaks(linear(four, 4, 4, 4), equal)


def leaks_means(B, E, T, x, matrix):
    function = linear(matrix, B, T, E)

    def without_mean(x):
        return x - x.mean(dim=-1, keepdim=True)

    return [
        leaks(lambda x: function(without_mean(x)), x),
        leaks(lambda x: without_mean(function(x)), x),
        leaks(lambda x: function(x - x[:1]), x),
    ]


def leaks_input_of_zero(B, E, T, matrix, silent):
    return leaks(linear(matrix, B, T, E), silent)


def leaks_rounding(B, E, T, x, matrix):
    function = linear(matrix, B, T, E)

    def with_small_numbers(x):
        return function(x) + 1e-12 * torch.cos(1e3 * x.detach()).sum()

    def with_large_numbers(x):
        large = 1e150 * x.detach()
        return function(x) + (large.sum() - large.sum())

    return [leaks(with_small_numbers, x), leaks(with_large_numbers, x)]


def leaks_leaves_x(x):
    _, after, result = inputs_after(leaks, lambda x: x.cumsum(dim=1), x.clone())
    return [after, after == x, after.requires_grad, result]


def longer(logits, targets, pad):
    """The same with as much padding behind the sentences as they are long."""
    padding = torch.full_like(targets, pad)
    return torch.cat([logits, logits], dim=1), torch.cat([targets, padding], dim=1)


def cross_entropy_logits_of_padding(logits, pad, targets):
    changed = logits.masked_fill((targets == pad)[..., None], 3.0)
    return [masked_cross_entropy(given, targets, pad) for given in (logits, changed)]


def cross_entropy_more_padding(logits, pad, targets):
    return [
        masked_cross_entropy(*given, pad)
        for given in [(logits, targets), longer(logits, targets, pad)]
    ]


def cross_entropy_twice(logits, pad, targets):
    marked = targets.clone()
    return [masked_cross_entropy(logits, marked, pad) for _ in range(2)]


def cross_entropy_mean(logits, pad, targets):
    cases = [
        (logits, targets),
        (logits[:1], targets[:1]),
        (logits[:, :1].contiguous(), targets[:, :1].contiguous()),
        (logits[:1, :1], targets[:1, :1]),
        (logits.float(), targets),
    ]
    return [masked_cross_entropy(*given, pad) for given in cases]


def cross_entropy_pads(V, logits, pad, targets, outside):
    return [
        inputs_after(masked_cross_entropy, logits, marked, pad=number)
        for number, marked in [(-100, outside), (0, (targets - pad) % V)]
    ]


def cross_entropy_edges(V, logits, pad, tokens, filling, targets, sure):
    there = filling[..., None]
    beyond = tokens.masked_fill(filling, V + 7)
    return [
        masked_cross_entropy(sure, targets, pad),
        masked_cross_entropy(logits.masked_fill(there, torch.nan), targets, pad),
        masked_cross_entropy(torch.where(there, torch.inf * logits, logits), targets, pad),
        masked_cross_entropy(logits, beyond, V + 7),
    ]
