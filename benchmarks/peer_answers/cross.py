"""Multi-head attention to another sequence. Ours has no task of its own for it: `MultiHeadAttention` takes both."""

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
import torch


def attend(x_q, x_k, x_v, layers, n_heads, mask=None):
    (B, T, D), S = x_q.shape, x_k.shape[1]
    width = D // n_heads
    query = layers[0](x_q).view(B, T, n_heads, width)
    key = layers[1](x_k).view(B, S, n_heads, width)
    value = layers[2](x_v).view(B, S, n_heads, width)
    scores = torch.einsum("bthd,bshd->bhts", query, key) / width**0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    output = torch.einsum("bhts,bshd->bthd", weights, value).reshape(B, T, D)
    return layers[3](output), weights
"""

KEY = "key = layers[1](x_k).view(B, S, n_heads, width)"
VALUE = "value = layers[2](x_v).view(B, S, n_heads, width)"
SIZES = "(B, T, D), S = x_q.shape, x_k.shape[1]"
SCORES = 'scores = torch.einsum("bthd,bshd->bhts", query, key) / width**0.5'
SOFTMAX = "weights = scores.softmax(dim=-1)"
SUM = 'output = torch.einsum("bhts,bshd->bthd", weights, value).reshape(B, T, D)'

FORMULA = "not scaled dot-product attention in every head, for almost all inputs"
OTHER = "by the statement keys and values come from the other sequence"
HEADS = "by the statement the heads are put side by side for every position"

wrong = partial(wrong_answer, TEXT)


def both(name, what, *edits, source, why=FORMULA):
    """A wrong answer, for the same reason by both statements."""
    return wrong(name, what, *edits, source=source, judge=why, ours=why)


WRONG = [
    both(
        "keys_and_values_of_its_own",
        "keys and values come from the sequence of the queries",
        (SIZES, "(B, T, D), S = x_q.shape, x_q.shape[1]"),
        (KEY, KEY.replace("x_k", "x_q")),
        (VALUE, VALUE.replace("x_v", "x_q")),
        source="https://github.com/keitakurita/Practical_NLP_in_PyTorch/issues/1",
        why=OTHER,
    ),
    both(
        "root_of_the_whole_width",
        "scales by the root of the width of all heads together",
        (SCORES, SCORES.replace("width**", "D**")),
        source="https://github.com/omihub777/ViT-CIFAR/pull/11",
    ),
    both(
        "no_scale",
        "the scores are not scaled",
        (SCORES, SCORES.replace(" / width**0.5", "")),
        source="https://github.com/delzac/cntkx/issues/10",
    ),
    both(
        "softmax_over_queries",
        "the softmax runs over the queries",
        (SOFTMAX, "weights = scores.softmax(dim=-2)"),
        source="https://github.com/nerminnuraydogan/vision-transformer/issues/1",
    ),
    both(
        "keys_for_values",
        "the weighted sum is of the keys",
        (SUM, SUM.replace("weights, value", "weights, key")),
        source="https://github.com/ruvnet/agentic-flow/issues/191",
    ),
    both(
        "merged_by_view",
        "heads are merged without a transposition, which mixes positions",
        (SUM, SUM.replace("->bthd", "->bhtd")),
        source="https://github.com/jsbaan/transformer-from-scratch/pull/6",
        why=HEADS,
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "scaled_queries",
        "the queries are scaled in place of the scores",
        edited(
            TEXT,
            (
                SCORES,
                'scores = torch.einsum("bthd,bshd->bhts", query * width**-0.5, key)',
            ),
        ),
    ),
]

TASK = Task(
    "cross",
    "Cross-attention",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "cross_attention",
            """
class MultiHeadCrossAttention(torch.nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (torch.nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x_q, x_kv):
        layers = self.W_q, self.W_k, self.W_v, self.W_o
        return attend(x_q, x_kv, x_kv, layers, self.num_heads)[0]
""",
            ("MultiHeadCrossAttention",),
        ),
        OURS: Place(
            "ch3_multi_head",
            """
class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_model, n_heads, attention=None, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        self.n_heads, self.attention = n_heads, attention
        self.w_q, self.w_k, self.w_v, self.w_o = (
            torch.nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        layers = self.w_q, self.w_k, self.w_v, self.w_o
        if self.attention is None:
            return attend(query, key, value, layers, self.n_heads, mask)
        heads = (
            layer(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for layer, x in zip(layers, (query, key, value))
        )
        output, weights = self.attention(*heads, mask)
        return self.w_o(output.transpose(1, 2).flatten(2)), weights
""",
            ("MultiHeadAttention",),
        ),
    },
    (*WRONG, *RIGHT),
)
