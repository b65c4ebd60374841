"""The settings of a run: what they mean, and what they are in each task."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, TypeVar

from translation import TranslationError

T = TypeVar("T")


def option(default: T, help: str, choices: tuple[str, ...] = (), value: str = "N") -> T:
    """A field that is an option on the command line, too.

    Args:
        default: its value unless a task's recipe or the command line has another.
        help: what it means.
        choices: the values to choose from; empty = any.
        value: what the help calls a value; of a tuple, one of them.
    """
    about = {"help": help, "choices": choices, "value": value}
    return dataclasses.field(default=default, metadata=about)


@dataclass(frozen=True)
class TaskSettings:
    """What to translate, and where its text lies."""

    task: str = option("numbers", "what to translate", ("numbers", "parallel", "multi30k"))
    source_language: str = option(
        "en", "language to translate from, in numbers and multi30k", value="LANGUAGE"
    )
    target_language: str = option(
        "de", "language to translate into, in numbers and multi30k", value="LANGUAGE"
    )
    below: int = option(1_000_000, "numbers: all numbers are below this", value="NUMBER")
    examples: int = option(20_000, "numbers: how many to train on", value="NUMBERS")
    held_out: int = option(
        1000, "numbers: how many to keep for the test, evenly over their digits", value="NUMBERS"
    )
    source: tuple[str, ...] = option(
        (), "parallel: text files, plain or .gz, a sentence a line", value="FILE"
    )
    target: tuple[str, ...] = option((), "parallel: their translations, line by line", value="FILE")
    valid_source: tuple[str, ...] = option(
        (), "parallel: files to measure loss and BLEU on", value="FILE"
    )
    valid_target: tuple[str, ...] = option((), "parallel: their translations", value="FILE")
    data: str = option("", "multi30k: folder of its files, as in its repository", value="FOLDER")
    text: str = option("lc.norm.tok", "multi30k: which version of the text", ("raw", "lc.norm.tok"))


@dataclass(frozen=True)
class ModelSettings:
    """The model and its vocabulary."""

    vocab_size: int = option(
        8000, "pieces in the vocabulary that both languages share", value="PIECES"
    )
    pieces: str = option("bpe", "how the vocabulary is made", ("bpe", "unigram", "char", "word"))
    d_model: int = option(256, "width of the model", value="NUMBERS")
    heads: int = option(4, "heads of each attention", value="HEADS")
    layers: int = option(3, "layers of the encoder, and of the decoder", value="LAYERS")
    d_ff: int = option(1024, "width of the feed-forward networks", value="NUMBERS")
    dropout: float = option(
        0.1, "probability of dropping an entry of a sublayer's result", value="P"
    )
    norm_first: bool = option(True, "layer norm before each sublayer instead of after it")
    tie: bool = option(True, "one matrix for both embeddings and the last layer")
    positions: str = option(
        "sinusoidal",
        "add sinusoids to the embeddings, or rotate queries and keys of self-attention (RoPE)",
        ("sinusoidal", "rope"),
    )
    norm: str = option("layer", "layer norm, or RMSNorm in its place", ("layer", "rms"))
    feed_forward: str = option(
        "relu",
        "ReLU, or SwiGLU, which has three matrices of --d-ff instead of two",
        ("relu", "swiglu"),
    )
    key_heads: int = option(
        0,
        "heads of keys and values, each for a group of queries' heads; 0 = as many as --heads",
        value="HEADS",
    )


@dataclass(frozen=True)
class TrainingSettings:
    """How the model is trained."""

    steps: int = option(20_000, "steps of the optimizer", value="STEPS")
    tokens: int = option(
        4096, "size of a batch: sentences times the pieces of the longest", value="PIECES"
    )
    longest: int = option(
        250, "pairs with a sentence of more pieces are left out; at most 1000", value="PIECES"
    )
    accumulate: int = option(1, "batches a step, in each process", value="BATCHES")
    rate: float = option(1e-3, "highest learning rate", value="RATE")
    warmup: int = option(1000, "steps until it is reached", value="STEPS")
    schedule: str = option("cosine", "how it falls then", ("cosine", "noam"))
    smoothing: float = option(0.1, "label smoothing: share spread over all pieces", value="SHARE")
    weight_decay: float = option(
        0.0, "decay of the matrices (AdamW), times the rate in each step", value="DECAY"
    )
    epsilon: float = option(
        1e-9, "what Adam adds to the root of its second moment", value="EPSILON"
    )
    clip: float = option(1.0, "longest gradient; a longer one is made as short", value="NORM")
    seed: int = option(0, "of weights, dropout, batches and held-out numbers", value="SEED")
    save_every: int = option(
        1000, "steps from checkpoint to checkpoint; 0 = an epoch", value="STEPS"
    )
    patience: int = option(
        0, "stop after this many checkpoints without a better one; 0 = never", value="CHECKPOINTS"
    )
    log_every: int = option(50, "steps from line to line of metrics.jsonl", value="STEPS")
    keep: int = option(10, "checkpoints whose weights are kept, to average", value="CHECKPOINTS")


@dataclass(frozen=True)
class Settings(TrainingSettings, ModelSettings, TaskSettings):
    """All settings of a run, and among how many processes its batches are divided."""

    processes: int = 1

    def to_json(self) -> dict[str, Any]:
        """The settings by name, as a run's folder and results keep them."""
        values = dataclasses.asdict(self)
        return {name: _listed(value) for name, value in values.items()}

    @classmethod
    def from_json(cls, stored: Any) -> Settings:
        """The settings that a run has kept; those that it lacks have their defaults.

        Raises:
            ValueError: something is no setting, or a value is of another type than its setting.
        """
        if not isinstance(stored, dict):
            raise ValueError("it has no settings by name")
        kinds = {field.name: type(field.default) for field in dataclasses.fields(cls)}
        if unknown := stored.keys() - kinds.keys():
            raise ValueError(f"{', '.join(sorted(unknown))}: no setting is called so")
        known: dict[str, Any] = {}
        for name, value in stored.items():
            kind = kinds[name]
            if kind is float and type(value) is int:
                value = float(value)
            if kind is tuple and type(value) is list:
                value = tuple(value)
            if type(value) is not kind:
                raise ValueError(f"{name} is {value!r}, not of the type {kind.__name__}")
            known[name] = value
        return cls(**known)


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


OPTIONS = {field.name: field for field in dataclasses.fields(Settings) if field.metadata}
FILES = ("data", "source", "target", "valid_source", "valid_target")  # where the text lies
RECIPES: dict[str, dict[str, Any]] = {
    "numbers": {
        "vocab_size": 160,
        "d_model": 128,
        "layers": 2,
        "d_ff": 256,
        "dropout": 0.0,
        "smoothing": 0.0,
        "steps": 400,
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


# of one matrix, or of layers times their width
MOST_NUMBERS = 4 * 10**9


def refuse_too_large(settings: ModelSettings) -> None:
    """Raise TranslationError for a model that no machine can hold."""
    width = max(settings.d_model, settings.d_ff, settings.vocab_size)
    if width * max(settings.layers, settings.d_model) > MOST_NUMBERS:
        raise TranslationError(
            "no machine can hold such a model: make --d-model, --d-ff, --layers or --vocab-size smaller"
        )


def complete(given: dict[str, Any]) -> Settings:
    """All settings: those given, else those of the task's recipe, else the defaults.

    Raises:
        TranslationError: a number makes no sense.
    """
    settings = Settings(**(RECIPES[given.get("task", Settings.task)] | given))
    for name, value in dataclasses.asdict(settings).items():
        option = "--" + name.replace("_", "-")
        least = int(name not in ("seed", "save_every", "patience", "key_heads"))
        if type(value) is int and value < least:
            raise TranslationError(f"{option} {value} is too small: at least {least}")
        if type(value) is float and not 0 <= value < math.inf:
            raise TranslationError(f"{option} {value} must be a number that is not negative")
        if name in ("dropout", "smoothing") and value >= 1:
            raise TranslationError(f"{option} {value} must be below 1")
    refuse_too_large(settings)
    heads, key_heads = settings.heads, settings.key_heads
    if settings.d_model % heads:
        raise TranslationError(f"--heads {heads} does not divide --d-model {settings.d_model}")
    if key_heads and heads % key_heads:
        raise TranslationError(f"--key-heads {key_heads} does not divide --heads {heads}")
    if settings.positions == "rope" and settings.d_model // heads % 2:
        raise TranslationError(
            f"--positions rope turns pairs of numbers, and a head has {settings.d_model // heads}: an even "
            "number is --d-model divided by --heads"
        )
    if settings.longest > 1000:
        raise TranslationError(f"--longest {settings.longest} is too large: at most 1000")
    return settings


def check_search(beam: int, alpha: float) -> None:
    """Make sure that there is such a search.

    Raises:
        TranslationError: beam is below 1, or alpha is negative.
    """
    if beam < 1:
        raise TranslationError(f"--beam {beam}: at least 1")
    if not alpha >= 0:
        raise TranslationError(f"--alpha {alpha}: at least 0")
