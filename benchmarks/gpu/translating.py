"""Decoding: by batch, with a cache, without, and as graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu.bench import Bench
from benchmarks.greedy import cached, decode, uncached
from translation.decoding import CachedDecoder
from translation.graphs import Record, Replayed
from translation.model import FastTransformer, build
from translation.settings import complete
from translation.tokenizer import BOS

Results = Iterator[tuple[str, Any]]
VOCAB = 8000


def model_of(bench: Bench) -> FastTransformer:
    """A model that isn't trained, in float32."""
    torch.manual_seed(0)
    settings = complete({"task": "parallel", "layers": bench.size(4, 1)})
    return build(settings, VOCAB, "fused", bench.device.type).to(bench.device).eval()


def replayed(
    record: Record,
    model: FastTransformer,
    source: torch.Tensor,
    length: int,
) -> Callable:
    """As `benchmarks.greedy.cached`, with a CUDA graph for each token."""
    decoder = CachedDecoder(model, source, 1, length, fixed=True)
    newest = torch.full((len(source), 1), BOS, device=source.device)

    def advance() -> None:
        newest.copy_(decoder(newest).argmax(dim=-1))

    step = Replayed(advance, source.device, record)

    def following(prefix: torch.Tensor) -> torch.Tensor:
        step()
        return newest.clone()

    return following


@torch.inference_mode()
def decoding(bench: Bench) -> Results:
    """Seconds of 100 tokens by batch."""
    model, length = model_of(bench), bench.size(100, 4)
    kinds: dict[str, Callable] = {
        "cached": cached,
        "uncached": uncached,
        "cached, graphs": functools.partial(replayed, bench.record),
    }
    for name, kind in kinds.items():
        rows = []
        for batch in bench.size([1, 16, 64, 256, 1024], [2]):
            source = torch.randint(4, VOCAB, (batch, 30), device=bench.device)
            if kind is uncached and batch > 256:
                continue
            seconds = bench.once(decode, kind, model, source, length)
            rows.append({"batch": batch, "seconds": seconds})
        yield name, rows
