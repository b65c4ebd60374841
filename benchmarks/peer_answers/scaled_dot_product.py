"""Scaled dot-product attention: the formula, and a mask where the grader asks for one."""

from functools import partial

from benchmarks.peer_answers.answer import (
    OURS,
    TORCH_JUDGE,
    TORCHLEET,
    Answer,
    Place,
    Task,
    wrong_answer,
)

TEXT = """
import math

import torch


def core(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    scores = scores / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores - scores.amax(dim=-1, keepdim=True)
    weights = weights.exp()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    if mask is not None:
        weights = weights * mask
    output = weights @ value
    return output, weights
"""

SCALE = "scores = scores / query.shape[-1] ** 0.5"
FILL = "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)"
SHIFT = "weights = scores - scores.amax(dim=-1, keepdim=True)"
SHARE = "weights = weights / weights.sum(dim=-1, keepdim=True)"
EMPTY = "weights = weights * mask"
OUTPUT = "output = weights @ value"

FORMULA = "not the formula of the statement, for almost all inputs"
BOUND = "the statement sets no bound on the scores"
MASK = "the statement asks for a mask, applied before the softmax"


wrong = partial(wrong_answer, TEXT)


def everywhere(name, what, *edits, source, why=FORMULA):
    """A wrong answer, for the same reason by all three statements."""
    return wrong(name, what, *edits, source=source, judge=why, leet=why, ours=why)


def masked(name, what, *edits, source):
    """A wrong answer where a mask is given; torch-judge's statement has none."""
    return wrong(name, what, *edits, source=source, leet=MASK, ours=MASK)


WRONG = [
    everywhere(
        "no_scale",
        "the scores are not divided by anything",
        (SCALE, "scores = scores"),
        source="https://github.com/delzac/cntkx/issues/10",
    ),
    everywhere(
        "times_the_root",
        "divides by the scale, which is 1 over the root already, so that the scores are multiplied by the root",
        (SCALE, "scale = query.shape[-1] ** -0.5\n    scores = scores / scale"),
        source="https://github.com/esceptico/perceiver-io/issues/9",
    ),
    everywhere(
        "scaled_twice",
        "the queries are scaled, and the scores once more",
        (
            SCALE,
            "scores = scores / query.shape[-1] ** 0.5\n    scores = scores / query.shape[-1] ** 0.5",
        ),
        source="https://github.com/AI-Hypercomputer/maxtext/issues/3138",
    ),
    everywhere(
        "softmax_over_queries",
        "the softmax runs over the queries",
        (SHIFT, "weights = scores - scores.amax(dim=-2, keepdim=True)"),
        (SHARE, "weights = weights / weights.sum(dim=-2, keepdim=True)"),
        source="https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146",
    ),
    everywhere(
        "softmax_over_batch",
        "the softmax runs over the first axis",
        (SHIFT, "weights = scores - scores.amax(dim=0, keepdim=True)"),
        (SHARE, "weights = weights / weights.sum(dim=0, keepdim=True)"),
        source="https://github.com/PetrochukM/PyTorch-NLP/issues/2",
    ),
    wrong(
        "softmax_over_axis_two",
        "the softmax runs over axis 2, which is the last one without heads only",
        (SHIFT, "weights = scores - scores.amax(dim=2, keepdim=True)"),
        (SHARE, "weights = weights / weights.sum(dim=2, keepdim=True)"),
        source="https://github.com/FudanNLP/fastNLP/issues/254",
        leet="the statement allows any leading axes",
        ours="the statement allows any leading axes",
    ),
    everywhere(
        "no_maximum",
        "nothing is subtracted before the exponential, which overflows",
        (SHIFT, "weights = scores"),
        source="https://github.com/NVIDIA/FasterTransformer/issues/43",
        why=BOUND,
    ),
    masked(
        "mask_after_softmax",
        "the mask is applied after the softmax, and what is left does not sum to 1",
        (FILL, "pass"),
        source="https://github.com/huggingface/pytorch-image-models/pull/2236",
    ),
    masked(
        "scores_times_mask",
        "masked scores are multiplied by 0, and a score of 0 still has weight",
        (FILL, "scores = scores * mask"),
        (EMPTY, "pass"),
        source="https://github.com/georg-wolflein/good-features/pull/1",
    ),
    masked(
        "fills_with_nearly_zero",
        "masked scores are filled with -1e-9, meant as -1e9",
        (FILL, "scores = scores.masked_fill(~mask, -1e-9)"),
        (EMPTY, "pass"),
        source="https://github.com/Shujun-He/RibonanzaNet/issues/5",
    ),
    masked(
        "fills_with_ten_thousand",
        "masked scores are filled with -10000, above scores that are lower still",
        (FILL, "scores = scores.masked_fill(~mask, -1e4)"),
        (EMPTY, "pass"),
        source="https://github.com/ohdearquant/lattice/issues/361",
    ),
    masked(
        "fill_is_discarded",
        "masked_fill returns a new tensor, which nobody keeps",
        (FILL, "scores.masked_fill(~mask, torch.finfo(scores.dtype).min)"),
        (EMPTY, "pass"),
        source="https://github.com/facebookresearch/ParlAI/pull/3068",
    ),
    masked(
        "mask_inverted",
        "attends where it may not, and nowhere else",
        (
            FILL,
            "mask = ~mask\n        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
        ),
        source="https://github.com/lucidrains/halonet-pytorch/issues/4",
    ),
    masked(
        "mask_transposed",
        "the mask hides queries in place of keys",
        (
            FILL,
            "mask = mask.transpose(-2, -1)\n        "
            "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
        ),
        source="https://github.com/hyunwoongko/transformer/pull/40",
    ),
    masked(
        "mask_ignored",
        "the mask makes no difference",
        (FILL, "pass"),
        (EMPTY, "pass"),
        source="https://github.com/jingyaogong/minimind-v/issues/76",
    ),
    wrong(
        "empty_rows_are_nan",
        "a query that may attend to nothing has weights of 0 / 0",
        (FILL, "scores = scores.masked_fill(~mask, -math.inf)"),
        (EMPTY, "pass"),
        source="https://github.com/pbloem/former/issues/10",
        ours="the statement says that such a query has weights 0 and output 0, never NaN",
    ),
    everywhere(
        "keys_for_values",
        "the weighted sum is of the keys",
        (OUTPUT, "output = weights @ key"),
        source="https://github.com/ruvnet/agentic-flow/issues/191",
    ),
    everywhere(
        "weights_transposed",
        "the weights of the queries are used as those of the keys",
        (OUTPUT, "output = weights.transpose(-2, -1) @ value"),
        source="https://github.com/heykeetae/Self-Attention-GAN/issues/11",
    ),
    everywhere(
        "all_axes_reversed",
        "transposing the keys reverses all their axes, not only the last two",
        (
            "query @ key.transpose(-2, -1)",
            "query @ key.permute(*range(key.dim() - 1, -1, -1))",
        ),
        source="https://github.com/HomericIntelligence/Odyssey/issues/5648",
    ),
    everywhere(
        "always_dropout",
        "a tenth of the weights is dropped, whether a model is trained or not",
        (
            OUTPUT,
            "weights = torch.nn.functional.dropout(weights, 0.1)\n    output = weights @ value",
        ),
        source="https://github.com/pytorch/pytorch/issues/124464",
    ),
]

RIGHT = [
    Answer(
        "einsum",
        "sums over named axes, and torch.softmax",
        """
import torch


def core(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) * query.shape[-1] ** -0.5
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        lowest = torch.finfo(scores.dtype).min
        weights = torch.softmax(torch.where(mask, scores, lowest), dim=-1).where(mask, 0.0)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights
""",
    ),
    Answer(
        "logsumexp",
        "the logarithm of the sum is subtracted before the exponential",
        """
import torch


def core(query, key, value, mask=None):
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
""",
    ),
    Answer(
        "both_sides_scaled",
        "queries and keys are each scaled by the fourth root, and empty rows are emptied at the end",
        """
import torch


def core(query, key, value, mask=None):
    root = query.shape[-1] ** 0.25
    scores = torch.matmul(query / root, (key / root).transpose(-1, -2))
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = torch.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), dim=-1)
        weights = torch.nan_to_num(weights)
    return torch.matmul(weights, value), weights
""",
    ),
    Answer(
        "query_by_query",
        "one query after the other, put together at the end",
        """
import torch


def core(query, key, value, mask=None):
    outputs, rows = [], []
    for t in range(query.shape[-2]):
        scores = (key * query[..., t : t + 1, :]).sum(-1) / query.shape[-1] ** 0.5
        if mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            seen = mask[..., min(t, mask.shape[-2] - 1), :]
            scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
            weights = torch.softmax(scores, dim=-1) * seen
        rows.append(weights)
        outputs.append((weights.unsqueeze(-1) * value).sum(-2))
    return torch.stack(outputs, dim=-2), torch.stack(rows, dim=-2)
""",
    ),
]

TASK = Task(
    "scaled_dot_product",
    "Scaled dot-product attention",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "attention",
            """
def scaled_dot_product_attention(Q, K, V):
    return core(Q, K, V)[0]
""",
            ("scaled_dot_product_attention",),
        ),
        TORCHLEET: Place(
            "implement-attention-from-scratch",
            """
def scaled_dot_product_attention(q, k, v, mask=None):
    return core(q, k, v, mask)
""",
            ("scaled_dot_product_attention",),
        ),
        OURS: Place(
            "ch2_scaled_dot_product",
            """
def attention(query, key, value, mask=None):
    return core(query, key, value, mask)
""",
            ("attention",),
        ),
    },
    (*WRONG, *RIGHT),
)
