"""Causal attention. Our task asks for the mask only, and also where there are fewer queries than keys."""

from functools import partial

from benchmarks.peer_answers.answer import (
    OURS,
    TORCH_JUDGE,
    Answer,
    Place,
    Task,
    edited,
    wrong_answer,
)

TEXT = """
import math

import torch


def visible(T, S):
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)


def attend(query, key, value):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    mask = visible(query.shape[-2], key.shape[-2])
    scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value
"""

VISIBLE = "return torch.ones(T, S, dtype=torch.bool).tril(S - T)"
SCORES = "scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5"
FILL = "scores = scores.masked_fill(~mask, -math.inf)"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
OUTPUT = "return weights @ value"

FORMULA = "not the formula of the statement, for almost all inputs"
FUTURE = "by the statement no query sees a later key"
FIRST = "the statement asks for minus infinity before the softmax"

wrong = partial(wrong_answer, TEXT)

WRONG = [
    wrong(
        "not_causal",
        "the mask is dropped, and every query sees every key",
        (VISIBLE, "return torch.ones(T, S, dtype=torch.bool)"),
        source="https://github.com/keras-team/keras/issues/23038",
        judge=FUTURE,
        ours=FUTURE,
    ),
    wrong(
        "from_the_top_left",
        "query 0 sees key 0 only, also with fewer queries than keys",
        (VISIBLE, "return torch.ones(T, S, dtype=torch.bool).tril()"),
        source="https://github.com/pytorch/executorch/pull/21749",
        ours="the statement says that the last query sees every key",
    ),
    wrong(
        "mask_inverted",
        "the mask is True where a key is hidden",
        (VISIBLE, "return ~torch.ones(T, S, dtype=torch.bool).tril(S - T)"),
        source="https://github.com/InseeFrLab/torchTextClassifiers/pull/92",
        judge=FUTURE,
        ours=FUTURE,
    ),
    wrong(
        "mask_transposed",
        "the mask hides queries in place of keys",
        (VISIBLE, "return torch.ones(S, T, dtype=torch.bool).tril(S - T).T"),
        source="https://github.com/hyunwoongko/transformer/pull/40",
        judge=FUTURE,
        ours=FUTURE,
    ),
    wrong(
        "mask_after_softmax",
        "the mask is applied after the softmax, and what is left does not sum to 1",
        (FILL, "pass"),
        (SOFTMAX, "weights = torch.softmax(scores, dim=-1) * mask"),
        source="https://github.com/huggingface/pytorch-image-models/pull/2236",
        judge=FIRST,
    ),
    wrong(
        "scores_times_mask",
        "masked scores are multiplied by 0, and a score of 0 still has weight",
        (FILL, "scores = scores * mask"),
        source="https://github.com/georg-wolflein/good-features/pull/1",
        judge=FIRST,
    ),
    wrong(
        "fills_with_nearly_zero",
        "masked scores are filled with -1e-9, meant as -1e9",
        (FILL, "scores = scores.masked_fill(~mask, -1e-9)"),
        source="https://github.com/Shujun-He/RibonanzaNet/issues/5",
        judge=FIRST,
    ),
    wrong(
        "fills_with_ten_thousand",
        "masked scores are filled with -10000, above scores that are lower still",
        (FILL, "scores = scores.masked_fill(~mask, -1e4)"),
        source="https://github.com/ohdearquant/lattice/issues/361",
        judge=FIRST,
    ),
    wrong(
        "fill_is_discarded",
        "masked_fill returns a new tensor, which nobody keeps",
        (FILL, "scores.masked_fill(~mask, -math.inf)"),
        source="https://github.com/facebookresearch/ParlAI/pull/3068",
        judge=FIRST,
    ),
    wrong(
        "no_scale",
        "the scores are not divided by anything",
        (SCORES, "scores = query @ key.transpose(-2, -1)"),
        source="https://github.com/delzac/cntkx/issues/10",
        judge=FORMULA,
    ),
    wrong(
        "softmax_over_queries",
        "the softmax runs over the queries",
        (SOFTMAX, "weights = torch.softmax(scores, dim=-2)"),
        source="https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146",
        judge=FORMULA,
    ),
    wrong(
        "keys_for_values",
        "the weighted sum is of the keys",
        (OUTPUT, "return weights @ key"),
        source="https://github.com/ruvnet/agentic-flow/issues/191",
        judge=FORMULA,
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "distances",
        "compares positions, and subtracts the logarithm of the sum",
        edited(
            TEXT,
            (VISIBLE, "return torch.arange(S)[None] <= torch.arange(S - T, S)[:, None]"),
            (SOFTMAX, "weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()"),
        ),
    ),
]

TASK = Task(
    "causal",
    "Causal attention",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "causal_attention",
            """
def causal_attention(Q, K, V):
    return attend(Q, K, V)
""",
            ("causal_attention",),
        ),
        OURS: Place(
            "ch4_masking",
            """
def causal_mask(T, S=None):
    return visible(T, T if S is None else S)
""",
            ("causal_mask",),
        ),
    },
    (*WRONG, *RIGHT),
)
