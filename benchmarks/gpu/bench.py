"""Where the parts of benchmarks.gpu run, and how they measure time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from translation.graphs import Function, capture

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    """A device, on which sizes are those for a GPU or tiny ones, for a test on a CPU."""

    device: torch.device

    @property
    def tiny(self) -> bool:
        """Whether this is but a test of the program."""
        return self.device.type != "cuda"

    @property
    def half(self) -> torch.dtype:
        """The number format of matrix products in training."""
        return torch.float32 if self.tiny else torch.bfloat16

    def size(self, large: T, small: T) -> T:
        """The size for a GPU, or the tiny one."""
        return small if self.tiny else large

    def record(self, function: Function) -> Function:
        """A CUDA graph of a function, or, for the test, the function."""
        return function if self.tiny else capture(function)

    def wait(self) -> None:
        """Wait until the device has done all that it was told."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def randn(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Random numbers on the device."""
        return torch.randn(*shape, device=self.device, dtype=dtype)

    def seconds(
        self, function: Callable[..., object], *arguments: object, times: int = 20
    ) -> float:
        """Seconds of a call, by the clock of the device: the median of five rounds of so many calls, after
        as many to warm up."""
        rounds, times = (1, 1) if self.tiny else (5, times)
        for _ in range(min(times, 5)):
            function(*arguments)
        self.wait()
        found = []
        for _ in range(rounds):
            if self.tiny:
                begun = time.perf_counter()
                function(*arguments)
                found.append(time.perf_counter() - begun)
                continue
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(times):
                function(*arguments)
            end.record()
            self.wait()
            found.append(begin.elapsed_time(end) / 1000 / times)
        return statistics.median(found)

    def once(self, function: Callable[..., object], *arguments: object) -> float:
        """Seconds of a long call, by the clock on the wall, after one to warm up."""
        function(*arguments)
        self.wait()
        begun = time.perf_counter()
        function(*arguments)
        self.wait()
        return time.perf_counter() - begun

    def begin_memory(self) -> int:
        """Forget the most memory that was in use; the bytes that are in use now."""
        if self.tiny:
            return 0
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()

    def peak_memory(self) -> int:
        """The most bytes that were in use since then."""
        return 0 if self.tiny else torch.cuda.max_memory_allocated()


def rates(seconds: float, **amounts: float) -> dict[str, float]:
    """Seconds, and each amount with how much of it that is a second."""
    found = {"seconds": seconds}
    for name, amount in amounts.items():
        found |= {name: amount, f"{name}_per_second": amount / seconds}
    return found


def powers(first: int, last: int, factor: int) -> Sequence[int]:
    """first, first * factor, ... up to last."""
    found = [first]
    while found[-1] * factor <= last:
        found.append(found[-1] * factor)
    return found
