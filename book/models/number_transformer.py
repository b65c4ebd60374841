"""The small Transformer of chapter 7, which translates number words,
and its training.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
import functools
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from book.models.encoder_decoder import END, PAD, START
from book.models.number_words import NumberWords, german
from book.models.seeds import seed
from solutions.ch6_transformer import Transformer, shift
from solutions.ch7_training import greedy_decode, smoothed_cross_entropy

LONGEST = 20  # tokens of a translation, at most


@dataclass(frozen=True)
class Run:
    """What training gives: the model, and at each step the loss and the
    length of the gradient before clipping.
    """

    model: Transformer
    losses: list[float]
    norms: list[float]


@functools.cache
def number_data() -> NumberWords:
    """The numbers of seed 1."""
    return NumberWords(seed(1))


def tensors(numbers: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Source (B, S), and target (B, T + 1) from START to END."""
    source, target = number_data().as_tensors(numbers)
    return source, F.pad(target, (1, 0), value=START)


@functools.cache
def pairs_to_learn() -> tuple[torch.Tensor, torch.Tensor]:
    """The tensors of 4000 numbers that are for training."""
    return tensors(number_data().seen[:4000])


def new_model() -> Transformer:
    """A Transformer before training: one layer on each side."""
    data = number_data()
    return Transformer(
        len(data.source_words), len(data.target_words),
        d_model=48, n_heads=4, n_layers=1, d_ff=96,
        dropout=0.0, pad=PAD, norm_first=True,
    )


def rate(step: int, n_steps: int, peak: float = 0.01) -> float:
    """A rise in a straight line to the peak in the first quarter of the
    steps, then half a wave of the cosine down to 0.
    """
    warmup = n_steps // 4
    if step < warmup:
        return peak * step / warmup
    done = (step - warmup) / (n_steps - warmup)
    return peak * (1 + math.cos(math.pi * done)) / 2


def train(
    training_seed: int,
    n_steps: int = 200,
    noise: float = 0.0,
) -> Run:
    """Train on random batches of 48 pairs. `noise` is the share of
    words that the decoder reads as other words.
    """
    torch.manual_seed(training_seed)
    source, target = pairs_to_learn()
    model = new_model()
    optimizer = torch.optim.AdamW(
        model.parameters(), betas=(0.9, 0.98), weight_decay=0.01
    )
    losses, norms = [], []
    for step in range(1, n_steps + 1):
        optimizer.param_groups[0]["lr"] = rate(step, n_steps)
        rows = torch.randint(len(source), (48,))
        target_in, target_out = shift(target[rows])
        if noise:
            target_in = with_noise(target_in, noise)
        logits = model(source[rows], target_in)
        loss = smoothed_cross_entropy(logits, target_out, 0.1, PAD)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        norms.append(norm.item())
    return Run(model.eval(), losses, norms)


def with_noise(words: torch.Tensor, share: float) -> torch.Tensor:
    """Replace this share of the words, but no mark, by random ones."""
    n_words = len(number_data().target_words)
    other = torch.randint(END + 1, n_words, words.shape)
    swapped = (torch.rand(words.shape) < share) & (words > END)
    return torch.where(swapped, other, words)


@torch.no_grad()
def write(model: Transformer, numbers: list[int]) -> list[list[str]]:
    """Greedy translations, a list of words each."""
    source, _ = tensors(numbers)
    memory = model.encode(source)

    def step(prefix: torch.Tensor) -> torch.Tensor:
        logits = model.decode(prefix, memory, source)[:, -1]
        return logits.log_softmax(dim=-1)

    ids = greedy_decode(step, START, END, LONGEST, len(numbers), PAD)
    words = number_data().target_words
    return [
        [words[i] for i in row if i not in (PAD, END)]
        for row in ids.tolist()
    ]


def exact_match(model: Transformer, numbers: list[int]) -> float:
    """Share of numbers that are right in every word."""
    written = zip(write(model, numbers), numbers, strict=True)
    right = sum(words == german(n) for words, n in written)
    return right / len(numbers)


@torch.no_grad()
def held_out_losses(
    model: Transformer, numbers: list[int], smoothing: float
) -> tuple[float, float, float]:
    """On true prefixes: the smoothed loss, the plain cross-entropy, and
    the mean probability of the right word.
    """
    source, target = tensors(numbers)
    target_in, target_out = shift(target)
    logits = model(source, target_in)
    losses = [
        smoothed_cross_entropy(logits, target_out, share, PAD).item()
        for share in (smoothing, 0.0)
    ]
    p = logits.softmax(dim=-1).gather(-1, target_out[..., None])[..., 0]
    return losses[0], losses[1], p[target_out != PAD].mean().item()
