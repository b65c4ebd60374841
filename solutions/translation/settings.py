"""The settings of a run: what they mean, and what they are in each task."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from solutions.translation import TranslationError


@dataclass(frozen=True)
class Setting:
    """One setting: its default, what it means, the values to choose from or None, for a list how many
    values, "+", and what to call a value in the help."""

    default: Any
    help: str
    choices: tuple | None = None
    nargs: str | None = None
    value: str = "N"


TASK = {
    "task": Setting("numbers", "what to translate", ("numbers", "parallel", "multi30k")),
    "source_language": Setting(
        "en", "language to translate from, in numbers and multi30k", value="LANGUAGE"
    ),
    "target_language": Setting(
        "de", "language to translate into, in numbers and multi30k", value="LANGUAGE"
    ),
    "below": Setting(1_000_000, "numbers: all numbers are below this", value="NUMBER"),
    "examples": Setting(20_000, "numbers: how many to train on", value="NUMBERS"),
    "held_out": Setting(
        1000, "numbers: how many to keep for the test, evenly over their digits", value="NUMBERS"
    ),
    "source": Setting(
        [], "parallel: text files, plain or .gz, a sentence a line", None, "+", "FILE"
    ),
    "target": Setting([], "parallel: their translations, line by line", None, "+", "FILE"),
    "valid_source": Setting([], "parallel: files to measure loss and BLEU on", None, "+", "FILE"),
    "valid_target": Setting([], "parallel: their translations", None, "+", "FILE"),
    "data": Setting("", "multi30k: folder of its files, as in its repository", value="FOLDER"),
    "text": Setting("lc.norm.tok", "multi30k: which version of the text", ("raw", "lc.norm.tok")),
}
MODEL = {
    "vocab_size": Setting(
        8000, "pieces in the vocabulary that both languages share", value="PIECES"
    ),
    "pieces": Setting("bpe", "how the vocabulary is made", ("bpe", "unigram", "char", "word")),
    "d_model": Setting(256, "width of the model", value="NUMBERS"),
    "heads": Setting(4, "heads of each attention", value="HEADS"),
    "layers": Setting(3, "layers of the encoder, and of the decoder", value="LAYERS"),
    "d_ff": Setting(1024, "width of the feed-forward networks", value="NUMBERS"),
    "dropout": Setting(0.1, "probability of dropping an entry of a sublayer's result", value="P"),
    "attention_dropout": Setting(0.0, "probability of dropping an attention weight", value="P"),
    "activation_dropout": Setting(
        0.0, "probability of dropping an entry inside a feed-forward network", value="P"
    ),
    "norm_first": Setting(True, "layer norm before each sublayer instead of after it"),
    "tie": Setting(True, "one matrix for both embeddings and the last layer"),
}
TRAINING = {
    "steps": Setting(20_000, "steps of the optimizer", value="STEPS"),
    "tokens": Setting(
        4096, "size of a batch: sentences times the pieces of the longest", value="PIECES"
    ),
    "longest": Setting(
        250, "pairs with a sentence of more pieces are left out; at most 1000", value="PIECES"
    ),
    "accumulate": Setting(1, "batches a step, in each process", value="BATCHES"),
    "optimizer": Setting("adam", "AdamW, or Muon for the matrices in the layers", ("adam", "muon")),
    "rate": Setting(1e-3, "highest learning rate", value="RATE"),
    "warmup": Setting(1000, "steps until it is reached", value="STEPS"),
    "schedule": Setting("cosine", "how it falls then", ("cosine", "noam")),
    "smoothing": Setting(0.1, "label smoothing: share spread over all pieces", value="SHARE"),
    "rdrop": Setting(
        0.0,
        "R-Drop: two passes with different dropout a batch, and how much their difference weighs in the "
        "loss; 0 = one pass",
        value="WEIGHT",
    ),
    "subword_dropout": Setting(
        0.0,
        "BPE-dropout: probability of leaving out a merge, in training; with --distill-from, of source "
        "sentences only",
        value="P",
    ),
    "weight_decay": Setting(
        0.0, "decay of the weights (AdamW), times the rate in each step", value="DECAY"
    ),
    "epsilon": Setting(1e-9, "what Adam adds to the root of its second moment", value="EPSILON"),
    "clip": Setting(1.0, "longest gradient; a longer one is made as short", value="NORM"),
    "ema": Setting(
        0.0,
        "decay of a moving average of the weights, with which to translate; 0 = none",
        value="DECAY",
    ),
    "init_from": Setting(
        "", "begin with the vocabulary, sizes and weights of this run", value="FOLDER"
    ),
    "distill_from": Setting(
        [],
        "distillation: runs of the same vocabulary whose predictions for the training pairs to learn from",
        nargs="+",
        value="FOLDER",
    ),
    "distill_weight": Setting(
        0.5, "how much of the loss is about those predictions, not the pairs' own", value="SHARE"
    ),
    "seed": Setting(0, "of weights, dropout, batches and held-out numbers", value="SEED"),
    "save_every": Setting(1000, "steps from checkpoint to checkpoint; 0 = an epoch", value="STEPS"),
    "patience": Setting(
        0, "stop after this many checkpoints without a better one; 0 = never", value="CHECKPOINTS"
    ),
    "log_every": Setting(50, "steps from line to line of metrics.jsonl", value="STEPS"),
    "keep": Setting(10, "checkpoints whose weights are kept, to average", value="CHECKPOINTS"),
}
SETTINGS = TASK | MODEL | TRAINING
FILES = ("data", "source", "target", "valid_source", "valid_target")  # where the text lies
RECIPES: dict[str, dict[str, Any]] = {
    "numbers": {
        "vocab_size": 160,
        "d_model": 128,
        "layers": 2,
        "d_ff": 256,
        "dropout": 0.0,
        "smoothing": 0.0,
        "steps": 300,
        "tokens": 2000,
        "rate": 2e-3,
        "warmup": 100,
        "save_every": 100,
    },
    "parallel": {},
    # Transformer-Tiny of Wu et al. (2021), arXiv 2105.14462: 4096 tokens on each of two GPUs there
    "multi30k": {
        "vocab_size": 10_000,
        "d_model": 128,
        "layers": 4,
        "d_ff": 256,
        "dropout": 0.3,
        "norm_first": False,
        "steps": 8000,
        "tokens": 4096,
        "accumulate": 2,
        "rate": 5e-3,
        "warmup": 2000,
        "schedule": "noam",
        "epsilon": 1e-8,
        "clip": 25.0,
        "save_every": 0,
        "patience": 10,
    },
}


def complete(given: dict[str, Any]) -> dict[str, Any]:
    """All settings: those given, else those of the task's recipe, else the defaults.

    Raises:
        TranslationError: a number makes no sense.
    """
    task = given.get("task", TASK["task"].default)
    settings = {name: setting.default for name, setting in SETTINGS.items()} | RECIPES[task] | given
    for name, value in settings.items():
        option = "--" + name.replace("_", "-")
        least = int(name not in ("seed", "save_every", "patience"))
        if type(value) is int and value < least:
            raise TranslationError(f"{option} {value} is too small: at least {least}")
        if type(value) is float and not 0 <= value < math.inf:
            raise TranslationError(f"{option} {value} must be a number that is not negative")
        if (name.endswith("dropout") or name in ("smoothing", "ema")) and value >= 1:
            raise TranslationError(f"{option} {value} must be below 1")
    if settings["distill_weight"] > 1:
        raise TranslationError(f"--distill-weight {settings['distill_weight']} must be at most 1")
    if settings["longest"] > 1000:
        raise TranslationError(f"--longest {settings['longest']} is too large: at most 1000")
    if settings["subword_dropout"] and settings["pieces"] != "bpe":
        raise TranslationError("--subword-dropout needs --pieces bpe")
    dropouts = ("dropout", "attention_dropout", "activation_dropout")
    if settings["rdrop"] and not any(settings[name] for name in dropouts):
        raise TranslationError("--rdrop needs --dropout: without it, both passes are the same")
    return settings
