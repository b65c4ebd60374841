"""The game of cards of chapter 2, learned by a reader's `attention` with nothing around it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import torch

from .adam import Adam

ANSWERS = ("attention",)
N_CARDS, N_NAMES, D_K = 6, 8, 64
RATE, STEPS, BATCH = 0.03, 150, 32
# steps between two points of the curve
POINT = 5


def deal(drawing: random.Random) -> tuple[torch.Tensor, torch.Tensor]:
    """Deal some tables: cards (BATCH, 6, 24), each its name, the name it asks for and a number, one-hot; and for
    each card the number of the one that it asks for, one-hot (BATCH, 6, 8).
    """
    picture = torch.eye(N_NAMES)
    rows, right = [], []
    for _ in range(BATCH):
        names = drawing.sample(range(N_NAMES), N_CARDS)
        numbers = drawing.choices(range(N_NAMES), k=N_CARDS)
        # never itself
        asked = [(n + drawing.randrange(1, N_CARDS)) % N_CARDS for n in range(N_CARDS)]
        rows += [[names[n], names[a], numbers[n]] for n, a in enumerate(asked)]
        right += [numbers[a] for a in asked]
    cards = picture[torch.tensor(rows)].reshape(BATCH, N_CARDS, 3 * N_NAMES)
    return cards, picture[torch.tensor(right)].reshape(BATCH, N_CARDS, N_NAMES)


def train(
    functions: dict[str, Callable], seed: int = 0, rate: float = RATE
) -> Iterator[tuple[int, float, float]]:
    """Steps, each with its loss and the share of cards of new tables that were right since the step before."""
    torch.manual_seed(seed)
    drawing = random.Random(seed)
    # three entries of each card are 1, so queries and keys start with unit variance
    matrices = [
        (torch.randn(3 * N_NAMES, width) / 3**0.5).requires_grad_() for width in (D_K, D_K, N_NAMES)
    ]
    optimizer, shares = Adam(matrices), []
    for step in range(1, STEPS + 1):
        cards, right = deal(drawing)
        output, _ = functions["attention"](*(cards @ matrix for matrix in matrices))
        logs = torch.log_softmax(output, dim=-1)
        loss = -(logs * right).sum() / (BATCH * N_CARDS)
        loss.backward()
        optimizer.step(rate)
        hits = output.argmax(dim=-1) == right.argmax(dim=-1)
        shares.append(hits.sum().item() / (BATCH * N_CARDS))
        if step % POINT == 0:
            yield step, loss.item(), sum(shares[-POINT:]) / POINT
