"""The card game of chapter 2, learned by a reader's attention and three matrices."""

import random
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional as F

from .adam import Adam

ANSWERS = ("attention",)
RATE = 0.03
STEPS, EVERY, BATCH = 100, 5, 32
CARDS, NAMES, WIDTH = 6, 8, 64


def deal(draw: random.Random) -> tuple[torch.Tensor, torch.Tensor]:
    """Tables of six cards, each a name, a name that it asks for and a number, and the right numbers."""
    tables, right = [], []
    for _ in range(BATCH):
        names = draw.sample(range(NAMES), CARDS)
        # never its own name
        asked = [(n + draw.randrange(1, CARDS)) % CARDS for n in range(CARDS)]
        numbers = draw.choices(range(NAMES), k=CARDS)
        tables.append([names, [names[n] for n in asked], numbers])
        right.append([numbers[n] for n in asked])
    # (B, 3, cards, 8) to (B, cards, 24)
    cards = F.one_hot(torch.tensor(tables), NAMES).transpose(1, 2).flatten(2)
    return cards.float(), torch.tensor(right)


def train(
    functions: dict[str, Callable], seed: int = 0, rate: float = RATE, n_steps: int = STEPS
) -> Iterator[tuple[int, float, float]]:
    """Yield the step, the loss and the share of cards answered right, both since it last did."""
    attention = functions["attention"]
    torch.manual_seed(seed)
    draw = random.Random(seed)
    w_query, w_key, w_value = weights = [
        (torch.randn(3 * NAMES, width) / 3**0.5).requires_grad_() for width in (WIDTH, WIDTH, NAMES)
    ]
    adam, lost, right = Adam(weights), 0.0, 0.0
    for step in range(1, n_steps + 1):
        cards, answers = deal(draw)
        output, _ = attention(cards @ w_query, cards @ w_key, cards @ w_value)
        loss = F.cross_entropy(output.flatten(0, 1), answers.flatten())
        loss.backward()
        adam.step(rate)
        lost += loss.item() / EVERY
        right += (output.argmax(dim=-1) == answers).float().mean().item() / EVERY
        if step % EVERY == 0:
            yield step, lost, right
            lost = right = 0.0
