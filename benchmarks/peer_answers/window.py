"""Sliding windows: which keys a query sees, and attention to these.

The peers' window reaches as far ahead as back and does not count the query, ours is causal and counts it. So `band` takes how
far it reaches in both directions. Our task asks for the mask only.
"""

from functools import partial

from benchmarks.peer_answers.answer import (
    OURS,
    TORCH_JUDGE,
    TORCHLEET,
    Answer,
    Place,
    Task,
    edited,
    wrong_answer,
)

TEXT = """
import math

import torch


def positions(T, S):
    return torch.arange(S - T, S)[:, None], torch.arange(S)


def band(query, key, back, ahead):
    return (key >= query - back) & (key <= query + ahead)


def attend(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value
"""

BAND = "(key >= query - back) & (key <= query + ahead)"
SCORES = "scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5"
FILL = "scores = scores.masked_fill(~mask, -math.inf)"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
OUTPUT = "return weights @ value"

PEERS_BAND = "the statement: i attends to j where |i - j| <= window_size"
OUR_BAND = "the statement: the window counts the query and ends with it"
PEERS_FORMULA = "scaled dot-product attention under the mask, for almost all inputs"


wrong = partial(wrong_answer, TEXT)


def band(name, what, new, source):
    """A window that is wrong by all three statements."""
    return wrong(
        name, what, (BAND, new), source=source, judge=PEERS_BAND, leet=PEERS_BAND, ours=OUR_BAND
    )


def attend(name, what, *edits, source, why=PEERS_FORMULA):
    """Attention that is wrong; our task asks for the mask only."""
    return wrong(name, what, *edits, source=source, judge=why, leet=why)


WRONG = [
    band(
        "one_too_many",
        "reaches back one key too far",
        "(key >= query - back - 1) & (key <= query + ahead)",
        source="https://github.com/huggingface/transformers/issues/39408",
    ),
    band(
        "both_conditions_or_one",
        "a key is hidden only if it is too far back and too far ahead, so none is",
        "(key >= query - back) | (key <= query + ahead)",
        source="https://github.com/lucidrains/local-attention/issues/5",
    ),
    band(
        "window_ignored",
        "sees all keys that are not ahead of the window",
        "(key >= -back) & (key <= query + ahead)",
        source="https://github.com/unslothai/unsloth/pull/8253",
    ),
    wrong(
        "only_back",
        "sees no key ahead of the query",
        (BAND, "(key >= query - back) & (key <= query)"),
        source="https://github.com/sgl-project/sglang/pull/33600",
        judge=PEERS_BAND,
        leet=PEERS_BAND,
    ),
    band(
        "only_ahead",
        "sees no key behind the query",
        "(key >= query) & (key <= query + ahead)",
        source="https://github.com/vllm-project/vllm/pull/31406",
    ),
    wrong(
        "both_sides",
        "reaches as far ahead as back, in a causal model",
        (BAND, "(key >= query - back) & (key <= query + back)"),
        source="https://github.com/ReaLLMASIC/ReaLLM-Forge/pull/108",
        ours="the statement: s <= p, no key of the future",
    ),
    band(
        "window_inverted",
        "the mask is True where a key is hidden",
        "~((key >= query - back) & (key <= query + ahead))",
        source="https://github.com/InseeFrLab/torchTextClassifiers/pull/92",
    ),
    wrong(
        "positions_from_zero",
        "counts the positions of the queries from 0, also where a cache holds earlier keys",
        ("torch.arange(S - T, S)[:, None]", "torch.arange(T)[:, None]"),
        source="https://github.com/trymirai/lalamo/pull/200",
        ours="the statement: the queries are the last T of S positions",
    ),
    attend(
        "no_scale",
        "the scores are not scaled",
        (SCORES, "scores = query @ key.transpose(-2, -1)"),
        source="https://github.com/delzac/cntkx/issues/10",
    ),
    attend(
        "softmax_over_queries",
        "the softmax runs over the queries",
        (SOFTMAX, "weights = torch.softmax(scores, dim=-2)"),
        source="https://github.com/nerminnuraydogan/vision-transformer/issues/1",
    ),
    attend(
        "mask_after_softmax",
        "the mask is applied after the softmax, and what is left does not sum to 1",
        (FILL, "pass"),
        (SOFTMAX, "weights = torch.softmax(scores, dim=-1) * mask"),
        source="https://github.com/huggingface/pytorch-image-models/pull/2236",
        why="the statement asks for -inf before the softmax",
    ),
    attend(
        "scores_times_mask",
        "masked scores are multiplied by 0, and a score of 0 still has weight",
        (FILL, "scores = scores * mask"),
        source="https://github.com/georg-wolflein/good-features/pull/1",
        why="the statement asks for -inf before the softmax",
    ),
    attend(
        "fills_with_nearly_zero",
        "masked scores are filled with -1e-9, meant as -1e9",
        (FILL, "scores = scores.masked_fill(~mask, -1e-9)"),
        source="https://github.com/awslabs/gluonts/pull/1401",
        why="the statement asks for -inf before the softmax",
    ),
    attend(
        "keys_for_values",
        "the weighted sum is of the keys",
        (OUTPUT, "return weights @ key"),
        source="https://github.com/ruvnet/agentic-flow/issues/191",
    ),
]

RIGHT = [
    Answer(
        "distances",
        "one matrix of distances between positions",
        edited(
            TEXT,
            (
                f"return {BAND}",
                "distance = key - query\n    return (distance <= ahead) & (-distance <= back)",
            ),
        ),
    ),
    Answer(
        "key_by_key",
        "a list of lists, filled key by key",
        edited(
            TEXT,
            (
                f"return {BAND}",
                "rows = [[q - back <= k <= q + ahead for k in key.tolist()] for q in query.flatten().tolist()]\n"
                "    return torch.tensor(rows)",
            ),
            (
                f"{FILL}\n    {SOFTMAX}",
                "scores = torch.where(mask, scores, float('-inf'))\n"
                "    weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()",
            ),
        ),
    ),
    Answer(
        "not_hidden",
        "says which keys are hidden, and turns it round",
        edited(
            TEXT,
            (
                f"return {BAND}",
                "hidden = torch.logical_or(key < query - back, key > query + ahead)\n"
                "    return torch.logical_not(hidden)",
            ),
            (
                SCORES,
                "scores = torch.einsum('...td,...sd->...ts', query, key) * query.shape[-1] ** -0.5",
            ),
        ),
    ),
]

TASK = Task(
    "window",
    "Sliding windows",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "sliding_window",
            """
def sliding_window_attention(Q, K, V, window_size):
    mask = band(*positions(Q.shape[-2], K.shape[-2]), window_size, window_size)
    return attend(Q, K, V, mask)
""",
            ("sliding_window_attention",),
        ),
        TORCHLEET: Place(
            "sliding-window-attention",
            """
def create_sliding_window_mask(seq_len, window_size):
    return band(*positions(seq_len, seq_len), window_size, window_size)


def full_attention(q, k, v):
    return attend(q, k, v, torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool))


def sliding_window_attention(q, k, v, window_size):
    return attend(q, k, v, create_sliding_window_mask(q.shape[-2], window_size))
""",
            ("create_sliding_window_mask", "full_attention", "sliding_window_attention"),
        ),
        OURS: Place(
            "ch8_language_model",
            """
def window_mask(T, S, window, sinks=0):
    if T > S or window < 1 or sinks < 0:
        raise ValueError(f"T={T}, S={S}, window={window}, sinks={sinks}")
    query, key = positions(T, S)
    past = torch.arange(S) <= torch.arange(S - T, S)[:, None]
    return band(query, key, window - 1, 0) | ((torch.arange(S) < sinks) & past)
""",
            ("window_mask",),
        ),
    },
    (*WRONG, *RIGHT),
)
