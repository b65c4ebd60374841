"""Transformers of nothing but attention, whose heads can be read and
replaced.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import nn

from solutions.ch2_scaled_dot_product import attention
from solutions.ch3_multi_head import split_heads
from solutions.ch4_masking import causal_mask
from solutions.ch5_positional_encoding import rope


class AttentionHeads(nn.Module):
    """The heads of one layer, each with what it adds to a position.

    Args:
        d_model: width D of the vectors.
        n_heads: number of heads H, which divides D.
        rotary: whether queries and keys are turned by their positions.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        rotary: bool,
    ) -> None:
        super().__init__()
        self.n_heads, self.rotary = n_heads, rotary
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self,
        x: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What each head adds, (B, H, T, D), and its weights,
        (B, H, T, T), for x of shape (B, T, D).
        """
        into_head = self.w_q, self.w_k, self.w_v
        parts = [split_heads(w(x), self.n_heads) for w in into_head]
        query, key, value = parts
        positions = torch.arange(x.shape[1])
        if self.rotary:
            query, key = rope(query, positions), rope(key, positions)
        mask = causal_mask(x.shape[1])
        seen, weights = attention(query, key, value, mask)
        # each head has its own columns of w_o
        w_o = self.w_o.weight.unflatten(1, (self.n_heads, -1))
        return torch.einsum("bhtd,Dhd->bhtD", seen, w_o), weights


@dataclass(frozen=True)
class Trace:
    """All that happens in one run of an AttentionOnly.

    embedding: what stands at each position at first, (B, T, D).
    added: what each head adds to it, (n_layers, B, H, T, D).
    weights: each head's attention, (n_layers, B, H, T, T).
    scale: what the sum at a position is divided by, (B, T).
    logits: for the next token, (B, T, V).
    """

    embedding: torch.Tensor
    added: torch.Tensor
    weights: torch.Tensor
    scale: torch.Tensor
    logits: torch.Tensor


class AttentionOnly(nn.Module):
    """Layers of attention heads, and nothing else.

    Each position has a vector: its token's embedding, to which every
    head adds something. At the end it is divided by its root mean
    square, and a linear layer makes logits for the next token of it.

    Args:
        n_tokens: size V of the vocabulary.
        d_model: width D of the vectors.
        n_heads: heads H of each layer; H divides D.
        n_layers: number of layers.
        n_positions: so many positions get a vector that is learned and
            added to the embedding. None = rotary positions (RoPE).
    """

    def __init__(
        self,
        n_tokens: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        n_positions: int | None = None,
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(n_tokens, d_model)
        self.place = n_positions and nn.Embedding(n_positions, d_model)
        layer = d_model, n_heads, n_positions is None
        layers = [AttentionHeads(*layer) for _ in range(n_layers)]
        self.layers = nn.ModuleList(layers)
        self.unembed = nn.Linear(d_model, n_tokens, bias=False)

    def forward(
        self,
        tokens: torch.Tensor,
        replace: Mapping[tuple[int, int], Callable] | None = None,
    ) -> torch.Tensor:
        """Logits for the token after each position, (B, T, V).

        Args: as for trace.
        """
        return self.trace(tokens, replace).logits

    def trace(
        self,
        tokens: torch.Tensor,
        replace: Mapping[tuple[int, int], Callable] | None = None,
    ) -> "Trace":
        """Run, and keep what happens on the way.

        Args:
            tokens: (B, T).
            replace: for some heads (layer, head), counted from 0, a
                function of what the head would add, (B, T, D); it
                returns what is added in its place. It is called in
                this run only.

        Raises:
            ValueError: replace names a head that there isn't, or its
                function returns nothing or another shape.
        """
        replace = dict(replace or {})
        n_layers, n_heads = len(self.layers), self.layers[0].n_heads
        for layer, head in replace:
            known = range(n_layers), range(n_heads)
            if layer not in known[0] or head not in known[1]:
                raise ValueError(
                    f"there is no head {layer, head}: the model has "
                    f"{n_layers} layers of {n_heads} heads"
                )
        x = self.embed(tokens)
        if self.place is not None:
            x = x + self.place.weight[: tokens.shape[1]]
        embedding, every_added, every_weights = x, [], []
        for number, layer in enumerate(self.layers):
            added, weights = layer(x)
            for (of_layer, head), function in replace.items():
                if of_layer == number:
                    new = function(added[:, head].clone())
                    if getattr(new, "shape", None) != x.shape:
                        raise ValueError(
                            f"the function for {number, head} must "
                            f"return a tensor of {tuple(x.shape)}"
                        )
                    others = added[:, :head], added[:, head + 1 :]
                    added = torch.cat(
                        [others[0], new[:, None], others[1]],
                        dim=1,
                    )
            x = x + added.sum(dim=1)
            every_added.append(added)
            every_weights.append(weights)
        scale = (x.square().mean(dim=-1) + 1e-6).sqrt()
        return Trace(
            embedding,
            torch.stack(every_added),
            torch.stack(every_weights),
            scale,
            self.unembed(x / scale[..., None]),
        )
