"""What the checks of exercise 2 draw and return. The grader knows what is right."""

import numpy as np
import torch

from autograder.checks import dtype_of
from solutions.ch2_scaled_dot_product import attention, attention_numpy, score_statistics


def numpy_more_axes(query, key, value):
    two_axes = attention_numpy(query, key, value)
    return [two_axes, attention_numpy(*[x[None, :1] for x in (-query, key, value)])]


def numpy_large_scores(T, query, key, value, mask, shown, high_key):
    moved = [
        attention_numpy(sign * query, shift + scale * key, value, mask)
        for sign, shift, scale in [(1, 0, 400), (-1, 0, 400), (1, 1e4, 1)]
    ]
    high = attention_numpy(np.abs(query), high_key, value, shown.repeat(T, axis=1))
    return [*moved, high, attention_numpy(query, 400 * key, value)]


def attention_example_alone(query, key, value):
    together = attention(query, key, value)
    return [[one[:1] for one in together], attention(query[:1], key[:1], value[:1])]


def attention_without_first_query(query, key, value):
    together = attention(query, key, value)
    return [[one[..., 1:, :] for one in together], attention(query[..., 1:, :], key, value)]


def attention_keys_in_other_order(query, key, value):
    given = attention(query, key, value)[0]
    return [given, attention(query, key.flip(-2), value.flip(-2))[0]]


def attention_shifted_keys(query, key, value):
    return [attention(query, given, value)[1] for given in (key, key + key[..., :1, :])]


def attention_twice_the_values(query, key, value):
    return [2 * attention(query, key, value)[0], attention(query, key, 2 * value)[0]]


def attention_hidden_keys(query, key, value, padding):
    results = []
    for factor in (1, -3):
        keys = [torch.where(padding.mT, one, factor * one) for one in (key, value)]
        results.append(attention(query, *keys, padding))
    return results


def attention_mask_or_none(query, key, value, mask):
    return [attention(query, key, value, given)[1] for given in (None, mask)]


def attention_broadcast_masks(query, key, value, mask, padding):
    return [attention(query, key, value, given) for given in (padding, mask[0, 0], mask[:, :1])]


def attention_equal_sizes(equal_query, equal_key, equal_value, equal_mask):
    equal = (equal_query, equal_key, equal_value)
    return [attention(*equal, equal_mask), attention(*equal)]


def in_data_type(name, kind, query, key, value, mask):
    """Output and weights of the first example, with inputs of this data type."""
    given = [x[:1].to(getattr(torch, name)) for x in (query, key, value)]
    return attention(*given, mask[:1] if kind == "a mask" else None)


def attention_data_types(query, key, value, mask, names):
    return [
        [[dtype_of(result), result] for result in in_data_type(name, kind, query, key, value, mask)]
        for name in names
        for kind in ("no mask", "a mask")
    ]


def attention_large_scores(query, key, value, mask, shown, high_key):
    moved = [
        attention(sign * query, shift + scale * key, value, mask)
        for sign, shift, scale in [(1, 0, 3000), (-1, 0, 3000), (1, 1e4, 1)]
    ]
    high = attention(query.abs(), high_key, value, shown)
    return [*moved, high, attention(query, 3000 * key, value)]


def attention_layouts(query, key, value, mask):
    layouts = [torch.stack([x.mT, 2 * x.mT]).mT.transpose(0, 1) for x in (query, key, value)]
    return attention(*layouts, mask[:, None])


def statistics_weight_of_zero(scale, query, key_and_far_key):
    return [
        score_statistics(query[:1], keys, scale) for keys in (key_and_far_key, -key_and_far_key)
    ]
