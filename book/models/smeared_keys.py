"""Heads whose keys contain the position before, too."""

# Pages show this code, in a column of 72 characters.
# fmt: off
import torch
from torch import nn

from solutions.attention_only import AttentionHeads
from solutions.ch2_scaled_dot_product import attention
from solutions.ch3_multi_head import split_heads
from solutions.ch4_masking import causal_mask
from solutions.ch5_positional_encoding import rope


class SmearedHeads(AttentionHeads):
    """Heads whose key at a position is a mixture of the key that is
    made there and of the one that is made at the position before.

    Each head learns its mixture; it begins with half of each.
    """

    def __init__(
        self, d_model: int, n_heads: int, rotary: bool
    ) -> None:
        super().__init__(d_model, n_heads, rotary)
        self.mixture = nn.Parameter(torch.zeros(n_heads, 1, 1))

    def forward(
        self, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What each head adds, (B, H, T, D), and its weights,
        (B, H, T, T), for x of shape (B, T, D).
        """
        into_head = self.w_q, self.w_k, self.w_v
        parts = [split_heads(w(x), self.n_heads) for w in into_head]
        query, key, value = parts
        # the first position has nothing before it
        before = torch.zeros_like(key)
        before[:, :, 1:] = key[:, :, :-1]
        share = self.mixture.sigmoid()
        key = share * key + (1 - share) * before
        positions = torch.arange(x.shape[1])
        if self.rotary:
            query, key = rope(query, positions), rope(key, positions)
        mask = causal_mask(x.shape[1])
        seen, weights = attention(query, key, value, mask)
        w_o = self.w_o.weight.unflatten(1, (self.n_heads, -1))
        return torch.einsum("bhtd,Dhd->bhtD", seen, w_o), weights
