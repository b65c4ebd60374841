"""Softmax along one axis."""

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
import numpy as np
import torch


def weights(x, dim):
    top = x.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(x - top)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
"""

TOP = "top = x.amax(dim=dim, keepdim=True)"
SHARE = "exponentials / exponentials.sum(dim=dim, keepdim=True)"

BOUND = "the statement asks for a result that is right for large numbers, too"
AXIS = "the statement asks for numbers that sum to 1 along the axis"

wrong = partial(wrong_answer, TEXT)

WRONG = [
    wrong(
        "no_maximum",
        "exponentials of the numbers as they are, which overflow",
        (TOP, "top = 0"),
        source="https://github.com/deeplearning4j/deeplearning4j-examples/issues/730",
        judge=BOUND,
        leet=BOUND,
        ours=BOUND,
    ),
    wrong(
        "maximum_at_least_zero",
        "what is subtracted is at least 0, so that numbers far below it vanish",
        (TOP, "top = x.amax(dim=dim, keepdim=True).clamp(min=0)"),
        source="https://github.com/FluxML/NNlib.jl/pull/43",
        judge=BOUND,
        leet=BOUND,
        ours=BOUND,
    ),
    wrong(
        "over_the_whole_array",
        "the maximum and the sum are those of the whole array",
        (TOP, "top = x.max()"),
        (SHARE, "exponentials / exponentials.sum()"),
        source="https://github.com/apache/singa/pull/540",
        judge=AXIS,
        leet=AXIS,
        ours=AXIS,
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "log_softmax",
        "the exponential of PyTorch's logarithm of the softmax",
        edited(
            TEXT,
            (
                f"    {TOP}\n    exponentials = torch.exp(x - top)\n    return {SHARE}",
                "    return torch.log_softmax(x, dim).exp()",
            ),
        ),
    ),
]

TASK = Task(
    "softmax",
    "Softmax",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "softmax",
            """
def my_softmax(x, dim=-1):
    return weights(x, dim)
""",
            ("my_softmax",),
        ),
        TORCHLEET: Place(
            "softmax",
            """
def softmax(x, dim=-1):
    return weights(x, dim)
""",
            ("softmax",),
        ),
        OURS: Place(
            "ch2_scaled_dot_product",
            """
def softmax(x, axis=-1):
    return np.asarray(weights(torch.from_numpy(np.asarray(x, dtype=float)), axis))
""",
            ("softmax",),
        ),
    },
    (*WRONG, *RIGHT),
)
