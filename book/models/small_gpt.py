"""A GPT that is trained while one waits, and a text for it.

The text is the manual of Python 3.11 in 42 different characters. It is
in this folder, python_manual.txt, so that it is the same on every
machine; python_manual.LICENSE has its licence.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from solutions.ch4_masking import causal_mask
from solutions.ch5_positional_encoding import rope
from solutions.ch6_transformer import EncoderLayer

MANUAL = Path(__file__).with_name("python_manual.txt")


@dataclass(frozen=True)
class Text:
    """A text as tokens, one for each character.

    characters: the vocabulary, sorted. training: the first nine tenths,
    (n,). validation: the rest, (m,).
    """

    characters: str
    training: torch.Tensor
    validation: torch.Tensor

    def tokens(self, words: str) -> torch.Tensor:
        """The tokens of some words, (n,)."""
        numbers = [self.characters.index(letter) for letter in words]
        return torch.tensor(numbers)

    def words(self, tokens: torch.Tensor) -> str:
        """The characters of tokens (n,)."""
        return "".join(self.characters[i] for i in tokens.tolist())


def manual() -> Text:
    """The text of this chapter."""
    words = MANUAL.read_text(encoding="utf-8").split()
    text = " ".join(words)
    characters = "".join(sorted(set(text)))
    number = {letter: i for i, letter in enumerate(characters)}
    tokens = torch.tensor([number[letter] for letter in text])
    cut = len(tokens) * 9 // 10
    return Text(characters, tokens[:cut], tokens[cut:])


def rotary_attention(
    omega: torch.Tensor | None = None
) -> Callable[..., tuple[torch.Tensor, None]]:
    """An attention function whose positions are RoPE.

    omega: by how much each pair of entries turns from one position to
    the next, (d / 2,); None for the usual speeds.
    """

    def attend(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, None]:
        positions = torch.arange(key.shape[2])
        query, key = (turned(x, positions, omega) for x in (query, key))
        output = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask
        )
        return output, None

    return attend


def turned(
    x: torch.Tensor,
    positions: torch.Tensor,
    omega: torch.Tensor | None = None,
) -> torch.Tensor:
    """x (..., T, d) turned as RoPE does it, at speeds omega (d/2,)."""
    if omega is None:
        return rope(x, positions)
    angles = positions[:, None] * omega
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    one, two = x[..., 0::2], x[..., 1::2]
    pairs = [one * cos - two * sin, one * sin + two * cos]
    return torch.stack(pairs, dim=-1).flatten(-2)


class GPT(nn.Module):
    """Half a Transformer: encoder layers under a causal mask."""

    def __init__(
        self,
        n_tokens: int,
        d_model: int = 64,
        n_heads: int = 4,
        n_layers: int = 2,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(
                d_model, n_heads, 4 * d_model,
                attention=rotary_attention(),
            )
            for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, n_tokens)

    def forward(
        self, tokens: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """tokens (B, T) -> logits of the next token, (B, T, V)."""
        if mask is None:
            mask = causal_mask(tokens.shape[1])
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.output(self.norm(x))


def bits(
    model: GPT, pieces: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Bits that each character of pieces (B, T + 1) costs, (B, T)."""
    logits = model(pieces[:, :-1], mask)
    costs = F.cross_entropy(
        logits.flatten(0, 1), pieces[:, 1:].flatten(), reduction="none"
    )
    return costs.view(len(pieces), -1) / math.log(2)


def train(
    model: GPT,
    tokens: torch.Tensor,
    n_steps: int,
    context: int,
    training_seed: int,
    rate: float = 3e-3,
) -> Iterator[int]:
    """Train on pieces of tokens (n,), a step at a time.

    Yields 0 before the first step, then how many steps are done.
    """
    drawing = torch.Generator().manual_seed(training_seed)
    optimiser = torch.optim.Adam(model.parameters(), fused=True)
    yield 0
    for step in range(1, n_steps + 1):
        for group in optimiser.param_groups:
            # up in the first twentieth, then down to a tenth
            up, down = 20 * step / n_steps, 1 - 0.9 * step / n_steps
            group["lr"] = rate * min(up, down)
        first = torch.randint(
            len(tokens) - context, (32, 1), generator=drawing
        )
        pieces = tokens[first + torch.arange(context + 1)]
        loss = bits(model, pieces).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        yield step


def train_small(text: Text, training_seed: int) -> GPT:
    """The small model: two layers, trained on pieces of 64."""
    torch.manual_seed(training_seed)
    model = GPT(len(text.characters))
    for _ in train(model, text.training, 400, 64, training_seed):
        pass
    return model.eval()


@torch.no_grad()
def write(
    model: GPT,
    text: Text,
    length: int,
    context: int,
    probabilities: Callable[[torch.Tensor], torch.Tensor],
    start: str = "the ",
) -> str:
    """Words that begin with start, character by character.

    probabilities: from logits (V,) to what the next one is drawn from.
    """
    tokens = text.tokens(start)
    for _ in range(length):
        logits = model(tokens[None, -context:])[0, -1]
        new = torch.multinomial(probabilities(logits), 1)
        tokens = torch.cat([tokens, new])
    return text.words(tokens)
