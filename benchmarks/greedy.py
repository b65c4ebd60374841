"""Greedy decoding, step by step: from a cache, and with the whole prefix computed each time."""

from __future__ import annotations

from collections.abc import Callable

import torch

from solutions.ch6_transformer import Transformer
from translation.decoding import CachedDecoder
from translation.tokenizer import BOS


def cached(model: Transformer, source: torch.Tensor, length: int) -> Callable:
    """The likeliest next tokens (N, 1) after the prefixes (N, t), from the newest tokens and a cache."""
    decoder = CachedDecoder(model, source, 1, length)
    return lambda prefix: decoder(prefix[:, -1:]).argmax(dim=-1)


def uncached(model: Transformer, source: torch.Tensor, length: int) -> Callable:
    """The same, with the whole prefix computed each time, and the memory only once."""
    memory = model.encode(source)
    return lambda prefix: model.decode(prefix, memory, source)[:, -1:].argmax(dim=-1)


def decode(kind: Callable, model: Transformer, source: torch.Tensor, length: int) -> torch.Tensor:
    """Always the likeliest token, with no end; kind: such as `cached`."""
    step, prefix = kind(model, source, length), source.new_full((len(source), 1), BOS)
    for _ in range(length):
        prefix = torch.cat([prefix, step(prefix)], dim=1)
    return prefix
