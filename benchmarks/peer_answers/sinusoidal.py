"""The table of sines and cosines. torch-judge has no such task."""

from functools import partial

from benchmarks.peer_answers.answer import (
    OURS,
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


def table(n_positions, width, base):
    positions = torch.arange(n_positions, dtype=torch.float64)[:, None]
    pairs = torch.arange(0, width, 2, dtype=torch.float64)
    rates = torch.exp(pairs * (-math.log(base) / width))
    found = torch.zeros(n_positions, width, dtype=torch.float64)
    found[:, 0::2] = torch.sin(positions * rates)
    found[:, 1::2] = torch.cos(positions * rates)
    return found
"""

PAIRS = "pairs = torch.arange(0, width, 2, dtype=torch.float64)"
RATES = "rates = torch.exp(pairs * (-math.log(base) / width))"
SINES = "found[:, 0::2] = torch.sin(positions * rates)"
COSINES = "found[:, 1::2] = torch.cos(positions * rates)"

TURN = "by the statement pair i turns by 10000 to the power of -2 i over the width"
SAME = "by the statement the sine and the cosine of a pair have the same angle"
ORDER = "by the statement sines stand in the even columns and cosines in the odd ones"

wrong = partial(wrong_answer, TEXT)


def both(name, what, *edits, source, why=TURN):
    """A wrong answer, for the same reason by both statements."""
    return wrong(name, what, *edits, source=source, leet=why, ours=why)


WRONG = [
    both(
        "a_rate_for_every_column",
        "every column has a rate of its own, twice as far from the last",
        (SINES, "columns = base ** (-2 * torch.arange(width) / width)\n    " + SINES),
        (SINES.split(" = ")[1], "torch.sin(positions * columns[0::2])"),
        (COSINES.split(" = ")[1], "torch.cos(positions * columns[1::2])"),
        source="https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/32",
    ),
    both(
        "twice_the_exponent",
        "the exponent is doubled once more, although columns are counted in steps of two",
        (RATES, "rates = torch.exp(2 * pairs * (-math.log(base) / width))"),
        source="https://github.com/SamLynnEvans/Transformer/issues/25",
    ),
    both(
        "divided_and_rounded",
        "-log(10000) is divided by the width and then by 2, rounded down",
        (RATES, "rates = torch.exp(pairs * (-math.log(base) / width // 2))"),
        source="https://github.com/zju3dv/LoFTR/issues/41",
    ),
    both(
        "power_upside_down",
        "the exponents are raised to the power of 1 / 10000",
        (RATES, "rates = (pairs / width) ** (1 / base)"),
        source="https://github.com/ivanvovk/WaveGrad/issues/12",
    ),
    both(
        "cosines_are_ahead",
        "the cosine of a pair has the rate of half a pair further",
        (COSINES, "found[:, 1::2] = torch.cos(positions * base ** (-(pairs + 1) / width))"),
        source="https://github.com/maxjcohen/transformer/issues/62",
        why=SAME,
    ),
    both(
        "halves",
        "all sines come first, then all cosines",
        (SINES, "found[:, : width // 2] = torch.sin(positions * rates)"),
        (COSINES, "found[:, width // 2 :] = torch.cos(positions * rates)"),
        source="https://github.com/tensorops/TransformerX/issues/115",
        why=ORDER,
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "stacked",
        "sines and cosines are stacked and flattened",
        edited(
            TEXT,
            (RATES, "rates = base ** (-pairs / width)"),
            (
                "    found = torch.zeros(n_positions, width, dtype=torch.float64)\n"
                f"    {SINES}\n    {COSINES}\n    return found",
                "    angles = positions * rates\n"
                "    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)",
            ),
        ),
    ),
]

TASK = Task(
    "sinusoidal",
    "Sinusoidal positions",
    TEXT,
    {
        TORCHLEET: Place(
            "sinusoidal-positional-embedding",
            """
class SinusoidalPositionalEmbedding(torch.nn.Module):
    def __init__(self, max_seq_len, d_model):
        super().__init__()
        self.register_buffer("pe", table(max_seq_len, d_model, 10000.0).float())

    def forward(self, x):
        return self.pe[: x.shape[1]].unsqueeze(0)
""",
            ("SinusoidalPositionalEmbedding",),
        ),
        OURS: Place(
            "ch5_positional_encoding",
            """
def sinusoidal(n_positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError(f"d_model={d_model} is odd")
    return table(n_positions, d_model, base)
""",
            ("sinusoidal",),
        ),
    },
    (*WRONG, *RIGHT),
)
