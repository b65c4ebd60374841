"""The next letter of a German number word, learned by one layer of attention with a reader's `causal_mask`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import torch

from book.models.transformer import german

from .adam import Adam

ANSWERS = ("causal_mask",)
D, RATE, STEPS, BATCH = 32, 0.01, 200, 32
# steps between two points of the curve, and between two tests
POINT, TEST = 5, 20
WORDS = ["".join(german(number)) for number in range(1, 1000)]
END, BEGIN = ".", "<"
SIGNS = [END, BEGIN, *sorted({*"".join(WORDS)})]
LONGEST = max(map(len, WORDS))


def rows_of(words: list[str]) -> torch.Tensor:
    """Words as numbers of signs from BEGIN on, (words, longest + 1), filled up with END."""
    length = max(map(len, words)) + 1
    texts = [(BEGIN + word).ljust(length + 1, END) for word in words]
    return torch.tensor([[SIGNS.index(sign) for sign in text] for text in texts])


class Letters:
    """A table of signs and one of positions, a layer of attention, and a feed-forward network."""

    def __init__(self, causal_mask: Callable, seed: int) -> None:
        torch.manual_seed(seed)
        self.causal_mask = causal_mask
        shapes = {
            **{"signs": (len(SIGNS), D), "positions": (LONGEST + 1, D)},
            **dict.fromkeys(("query", "key", "value"), (D, D)),
            **{"wide": (D, 4 * D), "narrow": (4 * D, D), "output": (D, len(SIGNS))},
        }
        self.weights = {
            name: (torch.randn(*shape) / shape[0] ** 0.5).requires_grad_()
            for name, shape in shapes.items()
        }

    def logs(self, rows: torch.Tensor) -> torch.Tensor:
        """Logarithms of the next sign's probabilities: rows (B, T) to (B, T, signs)."""
        w, T = self.weights, rows.shape[1]
        x = w["signs"][rows] + w["positions"][:T]
        scores = (x @ w["query"]) @ (x @ w["key"]).transpose(-2, -1) / D**0.5
        scores = scores.masked_fill(~self.causal_mask(T), -1e9)
        x = x + torch.softmax(scores, dim=-1) @ (x @ w["value"])
        x = x + (x @ w["wide"]).relu() @ w["narrow"]
        return torch.log_softmax(x @ w["output"], dim=-1)

    @torch.no_grad()
    def write(self, beginnings: list[str]) -> list[str]:
        """Go on from beginnings of one length, sign by sign, until an END."""
        found = list(beginnings)
        for _ in range(LONGEST + 1 - len(beginnings[0])):
            rows = torch.tensor([[SIGNS.index(s) for s in BEGIN + text] for text in found])
            last = self.logs(rows)[:, -1].argmax(dim=-1).tolist()
            found = [text + SIGNS[sign] for text, sign in zip(found, last, strict=True)]
        return [text.partition(END)[0] for text in found]

    @torch.no_grad()
    def right(self, words: list[str]) -> float:
        """The share of next signs that are right while what follows isn't there at all."""
        rows, hits, count = rows_of(words), 0, 0
        for length in range(1, rows.shape[1]):
            going = [n for n, word in enumerate(words) if length <= len(word) + 1]
            told = self.logs(rows[going][:, :length])[:, -1].argmax(dim=-1)
            hits += (told == rows[going][:, length]).sum().item()
            count += len(going)
        return hits / count


# the one that learned last
learner: Letters


def train(
    functions: dict[str, Callable], seed: int = 0, rate: float = RATE
) -> Iterator[tuple[int, float, float]]:
    """Steps, each with its loss and the share of letters of unseen words that were right when it was tested last."""
    global learner
    learner, share = Letters(functions["causal_mask"], seed), 0.0
    drawing = random.Random(seed)
    words = random.Random(0).sample(WORDS, len(WORDS))
    optimizer = Adam(learner.weights.values())
    for step in range(1, STEPS + 1):
        rows = rows_of(drawing.choices(words[100:], k=BATCH))
        given, asked = rows[:, :-1], rows[:, 1:]
        # the first END is asked for, what only fills up isn't
        real = (given != SIGNS.index(END)).float()
        chosen = learner.logs(given).gather(-1, asked.unsqueeze(-1)).squeeze(-1)
        loss = -(chosen * real).sum() / real.sum()
        loss.backward()
        optimizer.step(rate)
        if step % TEST == 0:
            share = learner.right(words[:100])
        if step % POINT == 0:
            yield step, loss.item(), share


def answer(text: str) -> str:
    """What it makes of a beginning."""
    if not text or any(sign not in SIGNS[2:] for sign in text) or len(text) > LONGEST:
        return f"Type small letters of German number words, at most {LONGEST}, such as sieb."
    (found,) = learner.write([text])
    return f"{found}, a number word" if found in WORDS else f"{found}, no number word"
