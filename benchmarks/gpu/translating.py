"""Decoding: by batch, with a cache, without, and as graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu.bench import Bench
from benchmarks.greedy import cached, uncached
from translation.decoding import CachedDecoder, search
from translation.graphs import Record, Replayed
from translation.model import FastTransformer, build
from translation.settings import complete
from translation.tokenizer import BOS

Results = Iterator[tuple[str, Any]]
VOCAB = 8000


def model_of(bench: Bench, **more: Any) -> FastTransformer:
    """A model that isn't trained, in float32."""
    torch.manual_seed(0)
    settings = complete({"task": "parallel", "layers": bench.size(4, 1), **more})
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
    """Seconds of 100 tokens by batch; and of 1,000 sentences of captions' length, which this model, not
    being trained, writes up to the largest number of tokens."""
    model, length = model_of(bench), bench.size(100, 4)
    yield "length", length
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

            seconds = bench.once(_write, kind, model, source, length)
            speed = batch * length / seconds
            rows.append({"batch": batch, "seconds": seconds, "tokens_per_second": speed})
        yield name, rows
    captions = model_of(bench, d_model=128, d_ff=256)
    sentences = torch.randint(4, VOCAB, (bench.size(1000, 3), 14), device=bench.device)
    for beam in (1, 5):
        for graphs in (False, True):
            name = f"{len(sentences)} sentences, beam {beam}{', graphs' if graphs else ''}"
            seconds = bench.once(_translate, bench, captions, sentences, beam, graphs)
            yield name, {"seconds": seconds}


def _write(kind: Callable, model: FastTransformer, source: torch.Tensor, length: int) -> None:
    """So many tokens, greedily."""
    prefix = torch.full((len(source), 1), BOS, device=source.device)
    step = kind(model, source, length)
    for _ in range(length):
        prefix = torch.cat([prefix, step(prefix)], dim=1)


def _translate(
    bench: Bench, model: FastTransformer, sentences: torch.Tensor, beam: int, graphs: bool
) -> None:
    """All sentences, a hundred side by side."""
    room = bench.size(48, 4)
    for some in sentences.split(100):
        limits = torch.full((len(some),), room, device=bench.device)
        decoder = CachedDecoder(model, some, beam, room, fixed=graphs or not bench.tiny)
        search(decoder, limits, 0.6, record=bench.record if graphs else None)
