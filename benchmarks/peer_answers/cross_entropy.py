"""Cross entropy. torch-judge asks for the plain one, ours for one with label smoothing and padding."""

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


def loss(logits, targets, smoothing, pad):
    real = targets != pad
    logits, targets = logits[real], targets[real]
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    log_p = shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
    right = log_p[torch.arange(len(targets)), targets]
    uniform = log_p.mean(dim=-1)
    return -((1 - smoothing) * right + smoothing * uniform).mean()
"""

REAL = "real = targets != pad"
SHIFTED = "shifted = logits - logits.amax(dim=-1, keepdim=True)"
PICKED = "    logits, targets = logits[real], targets[real]\n"
UNIFORM = "uniform = log_p.mean(dim=-1)"
MEAN = "return -((1 - smoothing) * right + smoothing * uniform).mean()"

REAL_TOKENS = "by the statement the mean is over the real tokens"
BOUND = "the statement asks for stability, or lets the logits be large"

wrong = partial(wrong_answer, TEXT)

WRONG = [
    wrong(
        "no_maximum",
        "exponentials of the logits as they are, which overflow",
        (SHIFTED, "shifted = logits"),
        source="https://github.com/deeplearning4j/deeplearning4j-examples/issues/730",
        judge=BOUND,
        ours=BOUND,
    ),
    wrong(
        "divided_by_all",
        "the sum over the real tokens is divided by the number of all",
        (MEAN, MEAN.replace(".mean()", ".sum() / real.numel()")),
        source="https://github.com/eladhoffer/utils.pytorch/issues/4",
        ours=REAL_TOKENS,
    ),
    wrong(
        "padding_counts",
        "padding is a token like the others",
        (REAL, "real = targets >= 0"),
        source="https://github.com/k-tahiro/bert-summarizer/pull/41",
        ours=REAL_TOKENS,
    ),
    wrong(
        "padding_is_smoothed",
        "the part that is spread over all tokens counts padding, too",
        (PICKED, f"    everywhere = logits.log_softmax(dim=-1).mean(dim=-1)\n{PICKED}"),
        (
            MEAN,
            "return -((1 - smoothing) * right.mean() + smoothing * everywhere.mean())",
        ),
        source="https://github.com/pytorch/pytorch/issues/73205",
        ours=REAL_TOKENS,
    ),
    wrong(
        "divided_by_the_batch",
        "the sum over the tokens is divided by the number of rows of the batch",
        (MEAN, MEAN.replace(".mean()", ".sum() / real.shape[0]")),
        source="https://github.com/huggingface/transformers/pull/5919",
        ours=REAL_TOKENS,
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "weighted",
        "each token has the weight 1 or 0",
        edited(
            TEXT,
            (PICKED, ""),
            (
                "right = log_p[torch.arange(len(targets)), targets]",
                "safe = targets.masked_fill(~real, 0)\n    "
                "right = log_p.gather(-1, safe[..., None])[..., 0]",
            ),
            (
                MEAN,
                "cost = -((1 - smoothing) * right + smoothing * uniform)\n    "
                "return torch.where(real, cost, 0.0).sum() / real.sum()",
            ),
        ),
    ),
]

TASK = Task(
    "cross_entropy",
    "Cross entropy",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "cross_entropy",
            """
def cross_entropy_loss(logits, targets):
    return loss(logits, targets, 0.0, -100)
""",
            ("cross_entropy_loss",),
        ),
        OURS: Place(
            "ch7_training",
            """
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    return loss(logits, targets, smoothing, pad)
""",
            ("smoothed_cross_entropy",),
        ),
    },
    (*WRONG, *RIGHT),
)
