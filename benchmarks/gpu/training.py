"""Steps of training: how many kernels, how long, and what makes them faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu.bench import Bench
from benchmarks.throughput import VOCAB, compile_layers, flops_per_token, make_batches, peak_of
from translation.machine import Machine
from translation.model import FastTransformer, build, n_parameters
from translation.objective import Objective
from translation.optimization import optimizer
from translation.settings import Settings, complete
from translation.training_step import TrainingStep

Results = Iterator[tuple[str, Any]]
Step = Callable[[torch.Tensor, torch.Tensor], None]


TINY = {"d_model": 16, "layers": 1, "d_ff": 32, "heads": 2}
BASE = {"d_model": 512, "layers": 6, "d_ff": 2048, "heads": 8}


def small_model(bench: Bench) -> Settings:
    """Multi30k's sizes: 2.6 million parameters."""
    return complete({"task": "multi30k"} | bench.size({}, TINY))


def base_model(bench: Bench) -> Settings:
    """The sizes of the paper's base model."""
    return complete({"task": "multi30k"} | bench.size(BASE, TINY))


def model_of(bench: Bench, settings: Settings, attention: str = "fused") -> FastTransformer:
    """A fresh model on the device, the same each time."""
    torch.manual_seed(0)
    return build(settings, VOCAB, attention, bench.device.type).to(bench.device).train()


def step_of(
    bench: Bench,
    settings: Settings,
    model: FastTransformer,
    precision: str,
    graphs: bool = False,
    compiled: bool = False,
) -> tuple[Step, TrainingStep]:
    """A step as the trainer does it, with clipping, on one batch."""
    here = Machine(bench.device, precision)
    if compiled:
        compile_layers(model)
    whole = TrainingStep(
        Objective(model, here, settings.smoothing),
        model,
        optimizer(model, settings, bench.device.type),
        settings.clip,
        torch.amp.GradScaler(bench.device.type, enabled=False),
        record=bench.record if graphs else None,
    )

    def step(source: torch.Tensor, target: torch.Tensor) -> None:
        whole.accumulate(target.numel() - len(target), source, target)
        whole.update(1e-4)

    return step, whole


def kernels(bench: Bench, function: Callable[..., object], *arguments: object) -> dict[str, float]:
    """How many kernels a call starts, and for how many microseconds they keep the device busy."""
    from torch.profiler import ProfilerActivity, profile

    if bench.tiny:
        return {}
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        function(*arguments)
        bench.wait()
    on_device = [e for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    return {
        "kernels": len(on_device),
        "microseconds_busy": sum(e.device_time_total for e in on_device),
    }


def steps(bench: Bench) -> Results:
    """A step of the small model on sentences of 16 pieces, by their number, eager and as graphs."""
    precision = bench.size("bfloat16", "float32")
    torch.set_float32_matmul_precision("high")  # as in the trainer
    settings = small_model(bench)
    for graphs in (False, True):
        model = model_of(bench, settings)
        step, _ = step_of(bench, settings, model, precision, graphs)
        rows = []
        for sentences in bench.size([4, 16, 64, 256, 1024, 2048, 4096], [2]):
            (batch,) = make_batches(1, 16 * sentences, 16, bench.device)
            milliseconds = 1000 * bench.seconds(step, *batch, times=10)
            rows.append({"sentences": sentences, "milliseconds": milliseconds})
            if sentences == bench.size(64, 2):
                busy = kernels(bench, step, *batch)
        name = f"adam, {'graphs' if graphs else 'eager'}"
        yield name, {"parameters": n_parameters(model), "rows": rows, "of 64 sentences": busy}


def ladder(bench: Bench) -> Results:
    """What makes a step of the base model faster, one thing after another."""
    settings = base_model(bench)
    tokens, length = bench.size((16384, 128), (64, 16))
    batches = make_batches(bench.size(4, 1), tokens, length, bench.device)
    peak = None if bench.tiny else peak_of(torch.cuda.get_device_name())
    rungs: dict[str, tuple[str, str, str, bool, bool]] = {
        "float32": ("highest", "float32", "formula", False, False),
        "tf32": ("high", "float32", "formula", False, False),
        "bfloat16": ("high", "bfloat16", "formula", False, False),
        "fused attention": ("high", "bfloat16", "fused", False, False),
        "graphs": ("high", "bfloat16", "fused", False, True),
        "layers compiled": ("high", "bfloat16", "fused", True, False),
        "layers compiled, graphs": ("high", "bfloat16", "fused", True, True),
    }
    for name, (products, precision, attention, compiled, graphs) in rungs.items():
        if bench.tiny and compiled:
            continue
        torch.set_float32_matmul_precision(products)
        bench.begin_memory()
        model = model_of(bench, settings, attention)
        step, whole = step_of(bench, settings, model, precision, graphs, compiled)
        count = bench.size(100, 2)
        for number in range(count):
            if number == count // 2:  # by now all is compiled and recorded
                bench.wait()
                begun = time.perf_counter()
            whole.total.zero_()
            step(*batches[number % len(batches)])
        loss = float(whole.total)
        seconds = (time.perf_counter() - begun) / (count - count // 2)
        speed = tokens / seconds
        flops = speed * flops_per_token(settings, n_parameters(model), length)
        yield (
            name,
            {
                "milliseconds": 1000 * seconds,
                "target_tokens_per_second": speed,
                "share_of_peak": flops / peak if peak else None,
                "peak_bytes": bench.peak_memory(),
                "loss_after_100_steps": loss,
            },
        )
        del model, step, whole
