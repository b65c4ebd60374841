"""Attention without softmax.

torch-judge asks for the form without a mask, with a feature map and divided by the sum of the weights, ours for the causal one in chunks,
without both. So a mistake is made in two functions, where it makes sense in both. torchleet has no such task.
"""

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
from torch.nn import functional as F


def attend(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    state = k.transpose(-2, -1) @ value
    norm = q @ k.sum(dim=-2).unsqueeze(-1)
    return q @ state / norm


def chunked(query, key, value, chunk):
    T = query.shape[-2]
    state = torch.zeros((*key.shape[:-2], key.shape[-1], value.shape[-1]), dtype=value.dtype)
    outputs = []
    for start in range(0, T, chunk):
        q, k, v = (x[..., start : start + chunk, :] for x in (query, key, value))
        inside = torch.tril(q @ k.transpose(-2, -1)) @ v
        outputs.append(q @ state + inside)
        state = state + k.transpose(-2, -1) @ v
    return torch.cat(outputs, dim=-2), state
"""

MAP = "q, k = F.elu(query) + 1, F.elu(key) + 1"
STATE = "state = k.transpose(-2, -1) @ value"
NORM = "norm = q @ k.sum(dim=-2).unsqueeze(-1)"
RESULT = "return q @ state / norm"
INSIDE = "inside = torch.tril(q @ k.transpose(-2, -1)) @ v"
OUTPUT = "outputs.append(q @ state + inside)"
ADD = "state = state + k.transpose(-2, -1) @ v\n"
END = "return torch.cat(outputs, dim=-2), state"

FORMULA = "not the formula of the statement, for almost all inputs"
TEXTS = "by the statement the result depends on the arguments alone"


wrong = partial(wrong_answer, TEXT)


def both(name, what, *edits, source, why=FORMULA):
    """A wrong answer, for the same reason by both statements."""
    return wrong(name, what, *edits, source=source, judge=why, ours=why)


WRONG = [
    wrong(
        "times_the_sum",
        "multiplies by the sum of the weights, since the 1 / was forgotten",
        (RESULT, "return q @ state * norm"),
        source="https://github.com/lucidrains/performer-pytorch/issues/40",
        judge=FORMULA,
    ),
    wrong(
        "divided_by_the_keys",
        "divides the state by the sum of the keys, feature by feature, which leaves out the query",
        (RESULT, "return q @ (state / k.sum(dim=-2).unsqueeze(-1))"),
        source="https://github.com/lucidrains/performer-pytorch/issues/21",
        judge=FORMULA,
    ),
    wrong(
        "summed_over_the_wrong_axis",
        "the keys are summed over another axis than that of the positions",
        (NORM, "norm = (q * k.sum(dim=0)).sum(dim=-1, keepdim=True)"),
        source="https://github.com/fla-org/flash-linear-attention/issues/850",
        judge=FORMULA,
    ),
    both(
        "last_chunk_dropped",
        "goes through whole chunks only, of 64 where none are asked for",
        (
            STATE,
            "whole = key.shape[-2] - key.shape[-2] % 64\n    "
            "k = torch.cat([k[..., :whole, :], 0 * k[..., whole:, :]], dim=-2)\n    "
            "state = k.transpose(-2, -1) @ value",
        ),
        (ADD, "state = state + k.transpose(-2, -1) @ v * (k.shape[-2] == chunk)\n"),
        (OUTPUT, "outputs.append((q @ state + inside) * (k.shape[-2] == chunk))"),
        source="https://github.com/tile-ai/TileOPs/pull/6",
    ),
    both(
        "state_of_the_last_call",
        "starts from the state in which the last text ended",
        ("def attend", "kept = {}\n\n\ndef attend"),
        (
            RESULT,
            "sums = k.sum(dim=-2).unsqueeze(-1)\n    "
            "old = kept.get(state.shape, (0, 0))\n    "
            "state, sums = state + old[0], sums + old[1]\n    "
            "kept[state.shape] = state.detach(), sums.detach()\n    "
            "return q @ state / (q @ sums)",
        ),
        (
            "    outputs = []\n",
            "    outputs = []\n    state = state + kept.get((state.shape, state.dtype), 0)\n",
        ),
        (
            END,
            "kept[state.shape, state.dtype] = state.detach()\n    return torch.cat(outputs, dim=-2), state",
        ),
        source="https://github.com/alibaba/MNN/pull/4424",
        why=TEXTS,
    ),
    wrong(
        "without_own_position",
        "a position does not see its own key",
        (INSIDE, "inside = torch.tril(q @ k.transpose(-2, -1), -1) @ v"),
        source="https://github.com/open-lm-engine/accelerated-model-architectures/pull/480",
        ours=FORMULA,
    ),
]

RIGHT = [
    Answer(
        "einsum",
        "sums over named axes",
        edited(
            TEXT,
            (STATE, "state = torch.einsum('...sd,...sv->...dv', k, value)"),
            (NORM, "norm = (q * k.sum(dim=-2, keepdim=True)).sum(dim=-1, keepdim=True)"),
            (RESULT, "return torch.einsum('...td,...dv->...tv', q, state) / norm"),
            (INSIDE, "inside = torch.einsum('...td,...sd->...ts', q, k).tril() @ v"),
            (ADD, "state = state + torch.einsum('...sd,...sv->...dv', k, v)\n"),
        ),
    ),
    Answer(
        "position_by_position",
        "the recurrent form, one position after the other",
        """
import torch


def attend(query, key, value):
    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (query, key))
    total = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
    found = q @ (k.transpose(-2, -1) @ total)
    return found[..., :-1] / found[..., -1:]


def chunked(query, key, value, chunk):
    state = torch.zeros((*key.shape[:-2], key.shape[-1], value.shape[-1]), dtype=value.dtype)
    outputs = []
    for t in range(query.shape[-2]):
        state = state + key[..., t, :, None] * value[..., t, None, :]
        outputs.append((query[..., t, None, :] @ state)[..., 0, :])
    return torch.stack(outputs, dim=-2), state
""",
    ),
    Answer(
        "mask_of_ones",
        "the weights within a chunk are multiplied by a triangle of ones",
        edited(
            TEXT,
            (MAP, "q = F.elu(query) + 1\n    k = F.elu(key) + 1"),
            (
                INSIDE,
                "ones = torch.ones(q.shape[-2], q.shape[-2], dtype=q.dtype).tril()\n        "
                "inside = (q @ k.mT * ones) @ v",
            ),
        ),
    ),
]

TASK = Task(
    "linear",
    "Linear attention",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "linear_attention",
            """
def linear_attention(Q, K, V):
    return attend(Q, K, V)
""",
            ("linear_attention",),
        ),
        OURS: Place(
            "ch9_flash_attention",
            """
def linear_attention_chunked(query, key, value, chunk):
    return chunked(query, key, value, chunk)
""",
            ("linear_attention_chunked",),
        ),
    },
    (*WRONG, *RIGHT),
)
