"""Rotary positions.

torch-judge and ours turn neighbouring entries. torchleet's statement pairs an entry with the one half the width
further and gets cosines and sines, so an answer has a function for each.
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
import torch


def turned(x, positions, theta):
    width = x.shape[-1]
    pairs = torch.arange(0, width, 2, dtype=torch.float64)
    angles = positions[..., None] * theta ** (-pairs / width)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def halves_turned(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], dim=-1)


def applied(x, cos, sin):
    return x * cos + halves_turned(x) * sin
"""

ANGLES = "angles = positions[..., None] * theta ** (-pairs / width)"
TURNED = "torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)"
HALVES = "return torch.cat([-x[..., half:], x[..., :half]], dim=-1)"
APPLIED = "return x * cos + halves_turned(x) * sin"

DIRECTION = "not the rotation of the statement: it turns the other way"
PAIRED = "by the statement the two entries of a pair turn by the same angle"
SPLIT = "by the statement the two halves are exchanged, and the second one is negated"

wrong = partial(wrong_answer, TEXT)

WRONG = [
    wrong(
        "turns_backwards",
        "the sign of the sines is reversed",
        (TURNED, "torch.stack([even * cos + odd * sin, odd * cos - even * sin], dim=-1)"),
        (APPLIED, "return x * cos - halves_turned(x) * sin"),
        source="https://github.com/trymirai/lalamo/pull/268",
        judge=DIRECTION,
        leet=DIRECTION,
        ours=DIRECTION,
    ),
    wrong(
        "halves_with_neighbours_angles",
        "entries are paired by halves, but the angles are made for neighbours",
        (
            f"return {TURNED}.flatten(-2)",
            "cos, sin = (one.repeat_interleave(2, dim=-1) for one in (cos, sin))\n    "
            "return x * cos + halves_turned(x) * sin",
        ),
        source="https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6",
        judge=PAIRED,
        ours=PAIRED,
    ),
    wrong(
        "neighbours_with_halves_angles",
        "neighbouring entries are paired, but the angles are repeated as a whole",
        (
            f"return {TURNED}.flatten(-2)",
            "cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)\n    "
            "return x * cos + torch.stack([-odd, even], dim=-1).flatten(-2) * sin",
        ),
        source="https://github.com/xiangking/ark-nlp/issues/47",
        judge=PAIRED,
        ours=PAIRED,
    ),
    wrong(
        "neighbours_put_in_halves",
        "takes neighbours apart, and puts them together as halves",
        (HALVES, "return torch.cat([-x[..., 1::2], x[..., 0::2]], dim=-1)"),
        source="https://github.com/naver/croco/issues/3",
        leet=SPLIT,
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "complex",
        "complex numbers of length 1",
        edited(
            TEXT,
            (
                "    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)\n"
                "    even, odd = x[..., 0::2], x[..., 1::2]\n"
                f"    return {TURNED}.flatten(-2)",
                "    numbers = torch.complex(x[..., 0::2].double(), x[..., 1::2].double())\n"
                "    numbers = numbers * torch.polar(torch.ones_like(angles), angles)\n"
                "    return torch.view_as_real(numbers).flatten(-2).to(x.dtype)",
            ),
            (
                HALVES,
                "first, second = x.split([half, x.shape[-1] - half], dim=-1)\n    "
                "return torch.cat((second.neg(), first), -1)",
            ),
        ),
    ),
]

TASK = Task(
    "rope",
    "Rotary positions",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "rope",
            """
def apply_rope(q, k):
    return tuple(turned(x, torch.arange(x.shape[-2]), 10000.0) for x in (q, k))
""",
            ("apply_rope",),
        ),
        TORCHLEET: Place(
            "rotary-positional-embedding",
            """
def rotate_half(x):
    return halves_turned(x)


def apply_rotary_pos_emb(q, k, cos, sin):
    return applied(q, cos, sin), applied(k, cos, sin)
""",
            ("rotate_half", "apply_rotary_pos_emb"),
        ),
        OURS: Place(
            "ch5_positional_encoding",
            """
def rope(x, positions, theta=10000.0):
    return turned(x, positions, theta)
""",
            ("rope",),
        ),
    },
    (*WRONG, *RIGHT),
)
