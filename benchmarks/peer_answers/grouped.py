"""Grouped queries: several heads share one key and one value head.

The peers ask for a layer or a function with its projections, ours for attention on heads that are split already, and for splitting and merging
as tasks of their own.
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


def split(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)


def merge(x):
    batch, n_heads, length, width = x.shape
    return x.transpose(1, 2).reshape(batch, length, n_heads * width)


def core(query, key, value, mask=None):
    heads, groups = query.shape[1], key.shape[1]
    if heads % groups:
        raise ValueError(f"{groups} groups don't divide {heads} heads")
    share = heads // groups
    key = key.repeat_interleave(share, dim=1)
    value = value.repeat_interleave(share, dim=1)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    output = weights @ value
    return output, weights
"""

SPLIT = "return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)"
MERGE = "return x.transpose(1, 2).reshape(batch, length, n_heads * width)"
CHECK = """    if heads % groups:
        raise ValueError(f"{groups} groups don't divide {heads} heads")
"""
KEY = "key = key.repeat_interleave(share, dim=1)"
VALUE = "value = value.repeat_interleave(share, dim=1)"
SCORES = "scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5"
FILL = "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
EMPTY = "weights = weights * mask"
OUTPUT = "output = weights @ value"

GROUPS = "by the statement each group of keys and values serves the heads next to each other"
FORMULA = "not scaled dot-product attention in every head, for almost all inputs"
MASK = "the statement asks for a mask"
HEADS = "by the statement a head is a part of every position's vector"


wrong = partial(wrong_answer, TEXT)


def everywhere(name, what, *edits, source, why=FORMULA, function=""):
    """A wrong answer, for the same reason by all three statements."""
    return wrong(
        name, what, *edits, source=source, judge=why, leet=why, ours=why, function=function
    )


def masked(name, what, *edits, source):
    """A wrong answer where a mask is given; torch-judge's statement has none."""
    return wrong(name, what, *edits, source=source, leet=MASK, ours=MASK)


def chosen(name, what, index, source):
    """Heads that use the wrong group; index: an expression for the group of each head."""
    return everywhere(
        name,
        what,
        (KEY, f"head = torch.arange(heads)\n    key = key[:, {index}]"),
        (VALUE, f"value = value[:, {index}]"),
        source=source,
        why=GROUPS,
    )


WRONG = [
    chosen(
        "repeated_as_a_whole",
        "the groups are repeated as a whole: head h uses group h % G",
        "head % groups",
        source="https://github.com/onnx/onnx/pull/7274",
    ),
    chosen(
        "divided_by_the_groups",
        "head h uses group h // G in place of h // (H / G)",
        "head // groups",
        source="https://github.com/PSAL-POSTECH/ONNXim/pull/34",
    ),
    chosen(
        "tiles_across_groups",
        "tiles of up to 16 heads all use the group of the tile's first head",
        "head // min(16, share) * min(16, share) // share",
        source="https://github.com/FlashML-org/FreeToken/pull/177",
    ),
    everywhere(
        "heads_left_out",
        "the order of the heads is right for as many groups as heads in a group, otherwise some stay 0",
        (
            OUTPUT,
            "head = torch.arange(heads)\n    "
            "done = torch.isin(head, head % share * share + head // share)\n    "
            "output = weights @ value * done[:, None, None]",
        ),
        source="https://github.com/HazyResearch/HipKittens/pull/22",
        why=GROUPS,
    ),
    everywhere(
        "not_repeated",
        "keys and values are not repeated",
        (KEY, "pass"),
        (VALUE, "pass"),
        source="https://github.com/state-spaces/mamba/pull/462",
        why=GROUPS,
    ),
    everywhere(
        "positions_repeated",
        "repeats the positions in place of the heads",
        (KEY, "key = key.repeat_interleave(share, dim=2)"),
        (VALUE, "value = value.repeat_interleave(share, dim=2)"),
        source="https://github.com/PrimeIntellect-ai/prime-rl/pull/2681",
        why=GROUPS,
    ),
    wrong(
        "not_checked",
        "groups that don't divide the heads are accepted, and some serve more heads than others",
        (CHECK, ""),
        (KEY, "head = torch.arange(heads) * groups // heads\n    key = key[:, head]"),
        (VALUE, "value = value[:, head]"),
        source="https://github.com/fla-org/flash-linear-attention/pull/1032",
        leet="every group must serve the same number of heads, says its own check",
        ours="the statement asks for a ValueError",
    ),
    everywhere(
        "root_of_the_whole_width",
        "scales by the root of the width of all heads together",
        (SCORES, "scores = query @ key.transpose(-2, -1) / (heads * query.shape[-1]) ** 0.5"),
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
        (OUTPUT, "output = weights @ key"),
        source="https://github.com/ruvnet/agentic-flow/issues/191",
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
        (
            FILL,
            "mask = ~mask\n        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
        ),
        source="https://github.com/InseeFrLab/torchTextClassifiers/pull/92",
    ),
    masked(
        "mask_after_softmax",
        "the mask is applied after the softmax, and what is left does not sum to 1",
        (FILL, "pass"),
        source="https://github.com/huggingface/pytorch-image-models/pull/2236",
    ),
    everywhere(
        "split_by_view",
        "heads are split without a transposition, so that a head holds whole positions",
        (SPLIT, "return x.reshape(batch, n_heads, length, width // n_heads)"),
        source="https://github.com/reczoo/FuxiCTR/issues/30",
        why=HEADS,
        function="split_heads",
    ),
    everywhere(
        "merged_by_view",
        "heads are merged without a transposition, which mixes positions",
        (MERGE, "return x.reshape(batch, length, n_heads * width)"),
        source="https://github.com/jsbaan/transformer-from-scratch/pull/6",
        why=HEADS,
        function="merge_heads",
    ),
]

RIGHT = [
    Answer(
        "queries_in_groups",
        "the queries get an axis for the groups, and nothing is repeated",
        edited(
            TEXT,
            (
                f"    {KEY}\n    {VALUE}\n    {SCORES}",
                """
    batch, _, length, width = query.shape
    grouped = query.reshape(batch, groups, share, length, width)
    scores = torch.einsum("bgntd,bgsd->bgnts", grouped, key) / width**0.5
    scores = scores.reshape(batch, heads, length, key.shape[2])""",
            ),
            (
                OUTPUT,
                "output = torch.einsum('bgnts,bgsd->bgntd', "
                "weights.reshape(batch, groups, share, length, -1), value)\n    "
                "output = output.reshape(batch, heads, length, value.shape[-1])",
            ),
        ),
    ),
    Answer(
        "expanded",
        "keys and values are expanded along a new axis and flattened",
        edited(
            TEXT,
            (KEY, "key = key[:, :, None].expand(-1, -1, share, -1, -1).flatten(1, 2)"),
            (VALUE, "value = value[:, :, None].expand(-1, -1, share, -1, -1).flatten(1, 2)"),
        ),
    ),
    Answer(
        "head_by_head",
        "every head looks up its group",
        edited(
            TEXT,
            (KEY, "key = torch.stack([key[:, head // share] for head in range(heads)], dim=1)"),
            (
                VALUE,
                "value = torch.stack([value[:, head // share] for head in range(heads)], dim=1)",
            ),
        ),
    ),
]

TASK = Task(
    "grouped",
    "Grouped queries",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "gqa",
            """
class GroupQueryAttention(torch.nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        d_k = d_model // num_heads
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.W_q = torch.nn.Linear(d_model, d_model)
        self.W_k = torch.nn.Linear(d_model, num_kv_heads * d_k)
        self.W_v = torch.nn.Linear(d_model, num_kv_heads * d_k)
        self.W_o = torch.nn.Linear(d_model, d_model)

    def forward(self, x):
        query = split(self.W_q(x), self.num_heads)
        key, value = (split(layer(x), self.num_kv_heads) for layer in (self.W_k, self.W_v))
        return self.W_o(merge(core(query, key, value)[0]))
""",
            ("GroupQueryAttention",),
        ),
        TORCHLEET: Place(
            "grouped-query-attention",
            """
def grouped_query_attention(q, k, v, num_query_heads, num_query_groups, d_model, mask=None):
    d_head = d_model // num_query_heads
    project_q = torch.nn.Linear(d_model, d_model, bias=False)
    project_k = torch.nn.Linear(d_model, num_query_groups * d_head, bias=False)
    project_v = torch.nn.Linear(d_model, num_query_groups * d_head, bias=False)
    project_out = torch.nn.Linear(d_model, d_model, bias=False)
    query = split(project_q(q), num_query_heads)
    key, value = split(project_k(k), num_query_groups), split(project_v(v), num_query_groups)
    output, _ = core(query, key, value, None if mask is None else mask.bool())
    return project_out(merge(output))
""",
            ("grouped_query_attention",),
        ),
        OURS: Place(
            "ch3_multi_head",
            """
def grouped_query_attention(query, key, value, mask=None):
    return core(query, key, value, mask)
""",
            ("grouped_query_attention",),
        ),
    },
    (*WRONG, *RIGHT),
    helpers={
        "split_heads": Place(
            "ch3_multi_head",
            """
def split_heads(x, n_heads):
    return split(x, n_heads)
""",
            ("split_heads",),
        ),
        "merge_heads": Place(
            "ch3_multi_head",
            """
def merge_heads(x):
    return merge(x)
""",
            ("merge_heads",),
        ),
    },
)
