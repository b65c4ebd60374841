"""What the checks of exercise 1 draw and return. The grader knows what is right."""

import numpy as np
import torch

from autograder.checks import fill, inputs_after
from solutions.ch1_additive_attention import (
    AdditiveAttention,
    AttentionDecoderStep,
    additive_scores,
    attend,
)


def scores_example_alone(query, key, w_q, w_k, v):
    together = additive_scores(query, key, w_q, w_k, v)[:1]
    return [together, additive_scores(query[:1], key[:1], w_q, w_k, v)]


def scores_other_order(query, key, w_q, w_k, v):
    afterwards = additive_scores(query, key, w_q, w_k, v)[:, ::-1]
    return [afterwards, additive_scores(query, key[:, ::-1], w_q, w_k, v)]


def scores_edges(query, key, w_q, w_k, v):
    return [
        additive_scores(1e4 * query, key, w_q, w_k, v),
        additive_scores(query[:1], key[:1], w_q, w_k, v),
        additive_scores(query, key[:, :1], w_q, w_k, v),
        additive_scores(query, key, w_q[:1], w_k[:1], v[:1]),
    ]


def attend_example_alone(scores, value):
    return [[one[:1] for one in attend(scores, value)], attend(scores[:1], value[:1])]


def attend_shifted_scores(scores, value):
    return [attend(given, value)[1] for given in (scores, scores + 1)]


def attend_hidden_scores(scores, value, mask):
    changed, high = [np.where(mask, scores, other) for other in (3 - scores, scores + 1e5)]
    return [attend(given, value, mask) for given in (scores, changed, high)]


def attend_large_scores(scores, value):
    return [
        attend(1e4 + scores, value),
        attend(1e4 * scores[:1], value[:1]),
        attend(scores[:, :1], value[:, :1]),
        attend(scores, value[..., :1]),
    ]


def attend_leaves_arguments(scores, value, mask):
    return [inputs_after(attend, scores.copy(), value, given) for given in (mask, None)]


def additive_example_alone(Dq, Dk, A, query, key):
    together = fill(AdditiveAttention(Dq, Dk, A))(query, key)
    alone = fill(AdditiveAttention(Dq, Dk, A))(query[:1], key[:1])
    return [[one[:1] for one in together], alone]


def additive_modes(Dq, Dk, A, query, key, mask):
    module = fill(AdditiveAttention(Dq, Dk, A))
    return [module.train()(query, key, mask), module.eval()(query, key, mask)]


def additive_keys_in_other_order(Dq, Dk, A, query, key):
    return [fill(AdditiveAttention(Dq, Dk, A))(query, given)[0] for given in (key, key.flip(1))]


def additive_hidden_keys(Dq, Dk, A, query, key, mask):
    return [
        fill(AdditiveAttention(Dq, Dk, A))(
            query, torch.where(mask[..., None], key, factor * key), mask
        )
        for factor in (1, -3)
    ]


def additive_mask_or_none(Dq, Dk, A, query, key, mask):
    return [fill(AdditiveAttention(Dq, Dk, A))(query, key, given)[1] for given in (None, mask)]


def additive_other_query(Dq, Dk, A, query, key):
    return [fill(AdditiveAttention(Dq, Dk, A))(given, key)[1] for given in (query, -query)]


def additive_masks(Dq, Dk, A, query, key, mask):
    module = fill(AdditiveAttention(Dq, Dk, A)).train()
    return [
        module(3 * query, 3 * key, mask),
        module(query, -key, mask.roll(1, 1)),
        module(query, key),
    ]


def additive_single(B, S, Dq, Dk, A, query, key):
    return [
        fill(AdditiveAttention(d_query=Dq, d_key=Dk, d_hidden=A))(query=query[:b], key=key[:b, :s])
        for b, s in [(1, S), (B, 1)]
    ]


def additive_four_calls(Dq, Dk, A, query, key, other_query, by_position):
    module = fill(AdditiveAttention(Dq, Dk, A))
    before = module(query, key)
    for p in module.parameters():
        p.data.mul_(-2)
    return [
        before,
        module(query, key),
        module(other_query, by_position.transpose(0, 1)),
        module(query, -key),
    ]


def additive_large_scores(Dq, Dk, A, query, key, mask):
    module = fill(AdditiveAttention(Dq, Dk, A))
    results = []
    for factor, sign, given in [(1, 1, mask), (2e5, 1, mask), (1, -1, mask), (1, 1, None)]:
        module.v.weight.data.mul_(factor)
        results.append(module(sign * query, sign * key, given))
    return results


def additive_leaves_inputs(Dq, Dk, A, query, key, mask):
    module = fill(AdditiveAttention(Dq, Dk, A)).float()
    return inputs_after(module, query.float(), key.float(), mask)


def step_masked(E, H, Dk, A, embedded, state, key, mask):
    step = fill(AttentionDecoderStep(E, H, Dk, A)).train()
    return [step(embedded, state, key, mask), step.attention(state, key, mask)]


def step_five_calls(n, equal, equal_key, equal_mask, other, other_key):
    step = fill(AttentionDecoderStep(n, n, n, n))
    one = [x[:1] for x in equal]
    return [
        step(*equal, equal_key, equal_mask),
        step(*other, other_key),
        step(*equal, -equal_key),
        step(*equal[::-1], equal_key, equal_mask.roll(1, 1)),
        step(*one, equal_key[:1], equal_mask[:1].roll(1, 1)),
    ]
