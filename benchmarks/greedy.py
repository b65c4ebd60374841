"""Greedy decoding, step by step: from a cache, and with the whole prefix computed each time."""

from __future__ import annotations

import time
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


def decode(
    step: Callable, batch: int, length: int, device: torch.device
) -> tuple[torch.Tensor, list[float]]:
    """Always the likeliest token, with no end; the tokens and the seconds that each took."""
    prefix = torch.full((batch, 1), BOS, device=device)
    seconds = []
    for _ in range(length):
        begun = time.perf_counter()
        prefix = torch.cat([prefix, step(prefix)], dim=1)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    return prefix, seconds
