"""What a game uses of the answers that its reader hasn't written yet."""

import torch


def causal_mask(T: int) -> torch.Tensor:
    """Hide the future: (T, T)."""
    return torch.ones(T, T, dtype=torch.bool).tril()


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Weights (..., T, S), where each query may attend to a key at least."""
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1)
