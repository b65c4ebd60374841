"""The Transformer of chapter 6 and the recurrent translator of chapter
1, with about as many parameters.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
import torch
from torch import nn

from book.models.encoder_decoder import PAD, START, EncoderDecoder
from solutions.ch6_transformer import Transformer


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


def both(n_source: int, n_target: int) -> dict[str, nn.Module]:
    """Both models for vocabularies of these sizes."""
    return {
        "recurrent": EncoderDecoder(
            n_source, n_target, d_state=64, d_embed=32
        ),
        "Transformer": GreedyTransformer(
            n_source, n_target, 48, 4, 1, 96
        ),
    }


def exact(
    model: nn.Module, source: torch.Tensor, target: torch.Tensor
) -> float:
    """Share of targets that are right in every word."""
    words, _ = model.generate(source, target.shape[1])
    right = (words == target) | (target == PAD)
    return right.all(dim=1).float().mean().item()
