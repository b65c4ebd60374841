"""Number words, learned by the Transformer of `book/models/transformer.py` with a reader's parts in place of its own."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .adam import Adam

# what a reader may have written of the program, which calls it by these names
ANSWERS = (
    "attention",
    "split_heads",
    "merge_heads",
    "MultiHeadAttention",
    "from_key_padding",
    "causal_mask",
    "combine",
    "masked_cross_entropy",
    "sinusoidal",
    "PositionalEncoding",
    "FeedForward",
    "EncoderLayer",
    "DecoderLayer",
    "Transformer",
    "shift",
    "greedy_decode",
)
PROGRAM = "book.models.transformer"
RATE, STEPS, BATCH = 0.007, 400, 32
# steps to full speed, between two points of the curve, and between two tests on so many numbers
WARM, POINT, TEST, ASKED = 50, 10, 50, 50


class Translator:
    """The program with a reader's functions and classes in it, and the model that it makes."""

    def __init__(self, functions: dict[str, Callable], seed: int) -> None:
        self.program = with_answers(functions)
        torch.manual_seed(seed)
        words = len(self.program.SOURCE), len(self.program.TARGET)
        self.model = self.program.Transformer(*words, 48, 4, 1, 96)

    def loss(self, numbers: list[int]) -> torch.Tensor:
        """The mean loss of some numbers."""
        source, target = self.program.tensors(numbers)
        target_in, target_out = self.program.shift(target)
        logits = self.model(source, target_in)
        return self.program.masked_cross_entropy(logits, target_out, self.program.PAD)

    def translate(self, numbers: list[int]) -> list[str]:
        """What it writes for numbers below a million."""
        return self.program.translate(self.model, numbers)

    def right(self, numbers: list[int]) -> float:
        """The share of numbers that it writes as they should be, in every word."""
        answers = [" ".join(self.program.german(number)) for number in numbers]
        pairs = zip(self.translate(numbers), answers, strict=True)
        return sum(one == other for one, other in pairs) / len(numbers)

    def weights(self) -> dict[str, torch.Tensor]:
        """All that it has learned, by name."""
        return {name: one.detach() for name, one in self.model.named_parameters()}


def with_answers(functions: dict[str, Callable]) -> Any:
    """The program, made anew, with a reader's functions and classes in it."""
    spec = importlib.util.find_spec(PROGRAM)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    vars(program).update(functions)
    return program


def different_numbers() -> tuple[list[int], list[int]]:
    """8,000 numbers below a million to learn from, and 1,000 others."""
    drawn = random.Random(0).sample(range(1, 1_000_000), 9000)
    return drawn[:8000], drawn[8000:]


# the one that learned last
learner: Translator


def train(
    functions: dict[str, Callable], seed: int = 0, rate: float = RATE
) -> Iterator[tuple[int, float, float]]:
    """Steps, each with its loss and the share of unseen numbers that were right when they were asked for last.

    functions: by their names among ANSWERS.
    """
    global learner
    learner, right = Translator(functions, seed), 0.0
    drawing = random.Random(seed)
    learned, asked = different_numbers()
    optimizer = Adam(learner.model.parameters(), betas=(0.9, 0.98))
    for step in range(1, STEPS + 1):
        loss = learner.loss(drawing.choices(learned, k=BATCH))
        loss.backward()
        optimizer.step(rate * min(step / WARM, 1, 2 * (1 - step / STEPS)))
        if step % TEST == 0:
            right = learner.right(asked[:ASKED])
        if step % POINT == 0:
            yield step, loss.item(), right


def answer(text: str) -> str:
    """What it writes for a number in figures, and what would be right."""
    if not text.strip().isdecimal() or not 0 < int(text) < 1_000_000:
        return "Type a number from 1 to 999999 in figures."
    (found,) = learner.translate([int(text)])
    right = " ".join(learner.program.german(int(text)))
    return f"{found}, which is right" if found == right else f"{found}; right would be {right}"
