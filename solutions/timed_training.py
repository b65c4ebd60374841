"""Training for a given time: the Transformer of chapter 6 against the
recurrent translator of chapter 1.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from solutions.ch6_transformer import Transformer
from solutions.encoder_decoder import (
    PAD,
    START,
    EncoderDecoder,
    shift_right,
)


class GreedyTransformer(Transformer):
    """A Transformer that writes: the likeliest word each time."""

    @torch.no_grad()
    def generate(
        self, source: torch.Tensor, n_steps: int
    ) -> tuple[torch.Tensor, None]:
        """source (B, S) -> words (B, n_steps), and no weights."""
        memory = self.encode(source)
        words = torch.full((len(source), 1), START)
        for _ in range(n_steps):
            logits = self.decode(words, memory, source)[:, -1]
            newest = logits.argmax(dim=-1, keepdim=True)
            words = torch.cat([words, newest], dim=1)
        return words[:, 1:], None


def competitors(
    n_source: int, n_target: int
) -> dict[str, tuple[nn.Module, float]]:
    """Both models for vocabularies of these sizes, with a learning rate
    for each. They have about as many parameters.
    """
    return {
        "recurrent": (
            EncoderDecoder(n_source, n_target, d_state=64, d_embed=32),
            0.01,
        ),
        "Transformer": (
            GreedyTransformer(n_source, n_target, 48, 4, 1, 96),
            0.005,
        ),
    }


def exact(
    model: nn.Module, source: torch.Tensor, target: torch.Tensor
) -> float:
    """Share of targets that are right in every word."""
    words, _ = model.generate(source, target.shape[1])
    right = (words == target) | (target == PAD)
    return right.all(dim=1).float().mean().item()


def train_for(
    seconds: float,
    model: nn.Module,
    sample: Callable[[], tuple[torch.Tensor, torch.Tensor]],
    rate: float,
    score: Callable[[nn.Module], float],
    marks: int = 4,
) -> list[tuple[float, int, float]]:
    """Train for some seconds of one processor.

    The rate rises in the first tenth of the time and falls to zero
    from then on.

    Returns: at `marks` points of time the seconds, the steps so far,
    and the score.
    """
    optimiser = torch.optim.Adam(
        model.parameters(), lr=rate, fused=True
    )
    spent, n_steps, scores = 0.0, 0, []
    while spent < seconds:
        source, target = sample()
        begin = time.process_time()
        share = spent / seconds
        factor = min(0.02 + 10 * share, 1, (1 - share) / 0.9)
        optimiser.param_groups[0]["lr"] = rate * factor
        logits = model.train()(source, shift_right(target))
        loss = F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=PAD
        )
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        spent += time.process_time() - begin
        n_steps += 1
        if spent >= (len(scores) + 1) * seconds / marks:
            scores.append((spent, n_steps, score(model.eval())))
    return scores
