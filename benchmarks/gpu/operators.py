"""Single operators: how fast they can be, and what their time is made of."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.gpu.bench import Bench, powers, rates

Results = Iterator[tuple[str, Any]]


def roofline(bench: Bench) -> Results:
    """Layers by the number of their vectors, in two formats, and what is limited by memory."""
    vectors = bench.size([1, 4, 16, 64, 128, 256, *powers(512, 16384, 2)], [1, 16])
    width = bench.size(4096, 32)
    layer = {}
    for dtype in (torch.float32, torch.bfloat16):
        weight = bench.randn(width, width, dtype=dtype)
        layer[str(dtype).removeprefix("torch.")] = [
            {"vectors": n}
            | rates(
                bench.seconds(torch.matmul, bench.randn(n, width, dtype=dtype), weight.T),
                flops=2 * n * width**2,
                bytes=weight.element_size() * (width**2 + 2 * n * width),
            )
            for n in vectors
        ]
    yield f"layer of {width}", layer
    many = bench.size(2**28, 2**12)
    a, b, c = (bench.randn(many) for _ in range(3))
    size = many * a.element_size()
    yield "addition", rates(bench.seconds(lambda: torch.add(a, b, out=c)), bytes=3 * size)


def launches(bench: Bench) -> Results:
    """Starting a kernel: from Python, and how many numbers come for nothing."""
    x, times = bench.randn(1), bench.size(5000, 50)
    bench.wait()
    begun = time.perf_counter()
    for _ in range(times):
        x + x
    bench.wait()
    yield "microseconds_done", 1e6 * (time.perf_counter() - begun) / times
    sizes = powers(2**10, bench.size(2**28, 2**12), 4)
    yield (
        "seconds_of_a_product_by_numbers",
        {n: bench.seconds(torch.mul, bench.randn(n), 2.0, times=50) for n in sizes},
    )


def attention(bench: Bench) -> Results:
    """Causal attention by length, formula and PyTorch's function."""
    heads, width, positions = 16, 64, bench.size(16384, 128)
    rows = []
    for length in bench.size(powers(128, 16384, 2), [64, 128]):
        shape = positions // length, heads, length, width
        query, key, value = (
            bench.randn(*shape, dtype=bench.half).requires_grad_() for _ in range(3)
        )
        mask = torch.ones(length, length, dtype=torch.bool, device=bench.device).tril()
        row: dict[str, Any] = {"length": length}
        inputs = query, key, value
        row["formula"] = _attention(bench, inputs, _formula, mask)
        row["fused, is_causal"] = _attention(bench, inputs, _fused)
        row["fused, mask"] = _attention(bench, inputs, _fused, mask)
        rows.append(row)
    yield "rows", rows


def _formula(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ value


def _fused(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    return F.scaled_dot_product_attention(query, key, value, mask, is_causal=mask is None)


def _attention(
    bench: Bench,
    inputs: tuple[torch.Tensor, ...],
    function: Callable[..., torch.Tensor],
    *mask: torch.Tensor,
) -> dict[str, float | str]:
    """Milliseconds forward, and forward and backward, and memory beside the inputs."""
    gradient = torch.ones_like(inputs[0])

    def both() -> None:
        torch.autograd.grad(function(*inputs, *mask), inputs, gradient)

    before = bench.begin_memory()
    try:
        forward = bench.seconds(function, *inputs, *mask, times=5)
        whole = bench.seconds(both, times=5)
    except torch.OutOfMemoryError:
        return {"error": "out of memory"}
    return {
        "forward_ms": 1000 * forward,
        "both_ms": 1000 * whole,
        "extra_bytes": bench.peak_memory() - before,
    }


def recurrence(bench: Bench) -> Results:
    """A layer of a GRU beside causal self-attention, forward and backward, by length."""
    width, positions = bench.size(512, 16), bench.size(16384, 64)
    gru = nn.GRU(width, width, batch_first=True).to(bench.device, bench.half)
    project = nn.Linear(width, 3 * width).to(bench.device, bench.half)

    def recurrent(x: torch.Tensor) -> None:
        gru(x)[0].sum().backward()

    def attending(x: torch.Tensor) -> None:
        heads = project(x).unflatten(-1, (3, 8, -1)).permute(2, 0, 3, 1, 4)
        _fused(*heads).sum().backward()

    rows = []
    for length in bench.size(powers(16, 4096, 4), [16, 64]):
        x = bench.randn(positions // length, length, width, dtype=bench.half).requires_grad_()
        rows.append(
            {
                "length": length,
                "gru_ms": 1000 * bench.seconds(recurrent, x, times=3),
                "attention_ms": 1000 * bench.seconds(attending, x, times=3),
            }
        )
    yield "sizes", {"width": width, "positions": positions}
    yield "rows", rows
