"""Temperature, top-k and top-p. The peers ask for a token that is drawn, ours for its distribution.

torchleet has a task for each. torch-judge's statement keeps the tokens whose sum doesn't exceed p, or reaches it: it
can be read both ways, so neither is a mistake there.
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


def distribution(logits, temperature, top_k, top_p):
    ordered, tokens = logits.sort(dim=-1, descending=True, stable=True)
    p = torch.softmax(ordered / temperature, dim=-1)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(dim=-1, keepdim=True)
    if top_p is not None and top_p < 1:
        before = p.cumsum(dim=-1) - p
        kept = before < top_p
        p = torch.where(kept, p, 0.0)
        p = p / p.sum(dim=-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, tokens, p)
"""

HEAT = "p = torch.softmax(ordered / temperature, dim=-1)"
TOP_K = "p = p * (torch.arange(p.shape[-1]) < top_k)\n        p = p / p.sum(dim=-1, keepdim=True)"
TOP_P = "kept = before < top_p"
LIMIT = "if top_p is not None and top_p < 1:"
END = "return torch.zeros_like(p).scatter(-1, tokens, p)"

ORDER = "by the statement the temperature comes first"
CROSSING = "by the statement the token with which the sum reaches p is kept"

wrong = partial(wrong_answer, TEXT)

WRONG = [
    wrong(
        "without_the_last_one",
        "the token with which the sum reaches p is dropped",
        (TOP_P, "kept = before + p <= top_p\n        kept[..., 0] = True"),
        source="https://github.com/Biohub/esm/pull/360",
        leet=CROSSING,
        ours=CROSSING,
    ),
    wrong(
        "one_is_the_largest_only",
        "looks for the first sum above p, and finds none for p = 1, which stands for the first token",
        (LIMIT, "if top_p is not None:"),
        (
            TOP_P,
            "last = (p.cumsum(dim=-1) > top_p).int().argmax(dim=-1, keepdim=True)\n        "
            "kept = torch.arange(p.shape[-1]) <= last",
        ),
        source="https://github.com/BlinkDL/ChatRWKV/pull/170",
        judge="by the statement p = 1 keeps all tokens",
        leet="by the statement p = 1 keeps all tokens",
        ours="by the statement top_p = 1 changes nothing",
    ),
    wrong(
        "one_too_many",
        "top-k keeps one token more",
        (TOP_K, TOP_K.replace("< top_k", "<= top_k")),
        source="https://github.com/kingoflolz/mesh-transformer-jax/issues/164",
        judge="by the statement top_k tokens are kept",
        leet="by the statement k tokens are kept",
        ours="by the statement top_k tokens are kept",
    ),
    wrong(
        "temperature_last",
        "the temperature is applied to the tokens that are left",
        (HEAT, "p = torch.softmax(ordered, dim=-1)"),
        (END, f"p = torch.softmax(p.log() / temperature, dim=-1)\n    {END}"),
        source="https://github.com/sgl-project/sglang-jax/pull/1563",
        judge=ORDER,
        leet=ORDER,
        ours=ORDER,
    ),
    wrong(
        "ties_are_kept",
        "top-k keeps all tokens that tie with the last one",
        (
            "(torch.arange(p.shape[-1]) < top_k)",
            "(p >= p[..., min(top_k, p.shape[-1]) - 1, None])",
        ),
        source="https://github.com/flashinfer-ai/flashinfer/pull/3774",
        ours="by the statement exactly top_k tokens are kept",
    ),
    wrong(
        "top_p_of_what_is_lost",
        "top-p works on what top-k has left without dividing by its sum",
        (
            TOP_K,
            "p = p * (torch.arange(p.shape[-1]) < top_k)",
        ),
        (
            END,
            f"p = p / p.sum(dim=-1, keepdim=True)\n    {END}",
        ),
        source="https://github.com/ml-explore/mlx-lm/pull/388",
        ours="by the statement what top-k has left is divided by its sum",
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "ranks",
        "the rank of each token, and filtered logits",
        edited(
            TEXT,
            (
                "p = p * (torch.arange(p.shape[-1]) < top_k)",
                "p = torch.cat([p[..., :top_k], 0 * p[..., top_k:]], dim=-1)",
            ),
            (
                END,
                "ranks = tokens.argsort(dim=-1)\n    return p.gather(-1, ranks)",
            ),
        ),
    ),
]

TASK = Task(
    "sampling",
    "Top-k and top-p sampling",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "topk_sampling",
            """
def sample_top_k_top_p(logits, top_k=0, top_p=1.0, temperature=1.0):
    p = distribution(logits, temperature, top_k or None, top_p)
    return int(torch.multinomial(p, 1))
""",
            ("sample_top_k_top_p",),
        ),
        TORCHLEET: Place(
            "temperature-sampling top-k-sampling top-p-sampling",
            """
def drawn(logits, temperature, top_k=None, top_p=None):
    return int(torch.multinomial(distribution(logits, temperature, top_k, top_p), 1))


def temperature_sample(logits, temperature=1.0):
    return drawn(logits, temperature)


def top_k_sample(logits, k=50, temperature=1.0):
    return drawn(logits, temperature, top_k=k)


def top_p_sample(logits, p=0.9, temperature=1.0):
    return drawn(logits, temperature, top_p=p)
""",
            ("temperature_sample", "top_k_sample", "top_p_sample"),
        ),
        OURS: Place(
            "ch8_language_model",
            """
def token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError(f"temperature={temperature}, top_k={top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p}")
    if logits.dtype.itemsize < 4:
        logits = logits.float()
    if temperature == 0:
        temperature, top_k = 1.0, 1
    return distribution(logits, temperature, top_k, top_p)
""",
            ("token_probabilities",),
        ),
    },
    (*WRONG, *RIGHT),
)
