"""Multi-head attention with its four linear layers.

torchleet's layers are made inside the function, so that nobody can set their weights.
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


def split(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)


def merge(x):
    batch, n_heads, length, width = x.shape
    return x.transpose(1, 2).reshape(batch, length, n_heads * width)


def core(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights
"""

SPLIT = "return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)"
MERGE = "return x.transpose(1, 2).reshape(batch, length, n_heads * width)"
SCORES = "scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5"
FILL = "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
EMPTY = "weights = weights * mask"
OUTPUT = "return weights @ value, weights"

FORMULA = "not scaled dot-product attention in every head, for almost all inputs"
MASK = "the statement asks for a mask, applied before the softmax"
HEADS = "by the statement a head is a part of every position's vector"

wrong = partial(wrong_answer, TEXT)


def everywhere(name, what, *edits, source, why=FORMULA):
    """A wrong answer, for the same reason by all three statements."""
    return wrong(name, what, *edits, source=source, judge=why, leet=why, ours=why)


def masked(name, what, *edits, source):
    """A wrong answer where a mask is given; torch-judge's statement has none."""
    return wrong(name, what, *edits, source=source, leet=MASK, ours=MASK)


WRONG = [
    everywhere(
        "root_of_the_whole_width",
        "scales by the root of the width of all heads together",
        (SCORES, SCORES.replace("query.shape[-1]", "(query.shape[1] * query.shape[-1])")),
        source="https://github.com/omihub777/ViT-CIFAR/pull/11",
    ),
    everywhere(
        "no_scale",
        "the scores are not scaled",
        (SCORES, "scores = query @ key.transpose(-2, -1)"),
        source="https://github.com/PAIR-code/tiny-transformers/issues/71",
    ),
    everywhere(
        "softmax_over_queries",
        "the softmax runs over the queries",
        (SOFTMAX, "weights = torch.softmax(scores, dim=-2)"),
        source="https://github.com/nerminnuraydogan/vision-transformer/issues/1",
    ),
    everywhere(
        "keys_for_values",
        "the weighted sum is of the keys",
        (OUTPUT, "return weights @ key, weights"),
        source="https://github.com/ruvnet/agentic-flow/issues/191",
    ),
    everywhere(
        "split_by_view",
        "heads are split without a transposition, so that a head holds whole positions",
        (SPLIT, "return x.reshape(batch, n_heads, length, width // n_heads)"),
        source="https://github.com/reczoo/FuxiCTR/issues/30",
        why=HEADS,
    ),
    everywhere(
        "merged_by_view",
        "heads are merged without a transposition, which mixes positions",
        (MERGE, "return x.reshape(batch, length, n_heads * width)"),
        source="https://github.com/jsbaan/transformer-from-scratch/pull/6",
        why=HEADS,
    ),
    masked(
        "mask_ignored",
        "the mask makes no difference",
        (FILL, "pass"),
        (EMPTY, "pass"),
        source="https://github.com/jingyaogong/minimind-v/issues/76",
    ),
    masked(
        "mask_inverted",
        "attends where it may not, and nowhere else",
        (FILL, f"mask = ~mask\n        {FILL}"),
        source="https://github.com/InseeFrLab/torchTextClassifiers/pull/92",
    ),
    masked(
        "mask_after_softmax",
        "the mask is applied after the softmax, and what is left does not sum to 1",
        (FILL, "pass"),
        source="https://github.com/huggingface/pytorch-image-models/pull/2236",
    ),
    masked(
        "fills_with_nearly_zero",
        "masked scores are filled with -1e-9, meant as -1e9",
        (FILL, "scores = scores.masked_fill(~mask, -1e-9)"),
        (EMPTY, "pass"),
        source="https://github.com/Shujun-He/RibonanzaNet/issues/5",
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "head_by_head",
        "heads are cut out one by one and put together again",
        edited(
            TEXT,
            (SPLIT, "return torch.stack(x.chunk(n_heads, dim=-1), dim=1)"),
            (MERGE, "return torch.cat(list(x.unbind(1)), dim=-1)"),
        ),
    ),
]

TASK = Task(
    "multi_head",
    "Multi-head attention",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "mha",
            """
class MultiHeadAttention:
    def __init__(self, d_model, num_heads):
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (torch.nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, Q, K, V):
        layers = (self.W_q, Q), (self.W_k, K), (self.W_v, V)
        return self.W_o(merge(core(*(split(layer(x), self.num_heads) for layer, x in layers))[0]))
""",
            ("MultiHeadAttention",),
        ),
        TORCHLEET: Place(
            "multi-head-attention",
            """
def multi_head_attention(q, k, v, num_heads, d_model, mask=None):
    layers = [torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4)]
    heads = (split(layer(x), num_heads) for layer, x in zip(layers, (q, k, v)))
    return layers[3](merge(core(*heads, None if mask is None else mask.bool())[0]))
""",
            ("multi_head_attention",),
        ),
        OURS: Place(
            "ch3_multi_head",
            """
class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_model, n_heads, attention=core, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        self.n_heads, self.attention = n_heads, attention
        self.w_q, self.w_k, self.w_v, self.w_o = (
            torch.nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        layers = (self.w_q, query), (self.w_k, key), (self.w_v, value)
        heads = (split(layer(x), self.n_heads) for layer, x in layers)
        output, weights = self.attention(*heads, mask)
        return self.w_o(merge(output)), weights
""",
            ("MultiHeadAttention",),
        ),
    },
    (*WRONG, *RIGHT),
)
