"""The small Transformer of chapter 7, which translates number words,
and its training.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
import functools
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from book.models.encoder_decoder import END, PAD, START
from book.models.number_words import NumberWords, german
from book.models.seeds import seed
from solutions.ch6_transformer import Transformer, shift
from solutions.ch7_training import greedy_decode, smoothed_cross_entropy

LONGEST = 20  # tokens of a translation, at most


@dataclass(frozen=True)
class Run:
    """What training gives: the model, the loss at each step, and the
    weights of the steps asked for.
    """

    model: Transformer
    losses: list[float]
    saved: list[dict[str, torch.Tensor]]


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


def train(
    training_seed: int,
    n_steps: int = 200,
    decay: bool = True,
    smoothing: float = 0.1,
    noise: float = 0.0,
    save_last: int = 0,
) -> Run:
    """Train on random batches of 48 pairs.

    The learning rate rises to 0.01 in 50 steps and, with `decay`,
    falls to 0 in the last third. `noise` is the share of words that
    the decoder reads as other words. `save_last` is how many sets of
    weights are kept: the last ones, ten steps apart.
    """
    torch.manual_seed(training_seed)
    source, target = pairs_to_learn()
    model = new_model()
    optimiser = torch.optim.Adam(
        model.parameters(), betas=(0.9, 0.98), fused=True
    )
    losses, saved = [], []
    for step in range(1, n_steps + 1):
        factor = min(1, step / 50)
        if decay:
            factor *= min(1, 3 * (1 - step / (n_steps + 1)))
        optimiser.param_groups[0]["lr"] = 0.01 * factor
        rows = torch.randint(len(source), (48,))
        target_in, target_out = shift(target[rows])
        if noise:
            target_in = with_noise(target_in, noise)
        logits = model(source[rows], target_in)
        loss = smoothed_cross_entropy(
            logits, target_out, smoothing, PAD
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        left = n_steps - step
        if left % 10 == 0 and left < 10 * save_last:
            saved.append({
                name: p.detach().clone()
                for name, p in model.named_parameters()
            })
    return Run(model.eval(), losses, saved)


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
