"""What the steps of a process are made of, each prepared while the one before is computed."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch

from translation.batches import Batches
from translation.machine import Machine


@dataclass(frozen=True)
class Work:
    """What a step needs: this process's batches, each a source and a target; the tokens that all processes
    predict; the first batch of the next step; and whether an epoch ends with this one."""

    begin: int
    batches: list[tuple[torch.Tensor, torch.Tensor]]
    tokens: int
    end: int
    ends_epoch: bool


class Feed:
    """A process's share of all batches, step by step.

    Args:
        batches: those of all processes, in which nobody else looks meanwhile.
        machine: whose process it is.
        accumulate: batches of a step in each process.
    """

    def __init__(self, batches: Batches, machine: Machine, accumulate: int) -> None:
        self.batches = batches
        self.rank, self.world_size = machine.rank, machine.world_size
        self.pinned = machine.device.type == "cuda"
        self.accumulate = accumulate
        self._thread = ThreadPoolExecutor(1)  # the one thread that looks at the batches
        self._ahead: Future[Work] | None = None

    def take(self, begin: int) -> Work:
        """What the step needs whose first batch has the number `begin`."""
        work = self._ahead.result() if self._ahead else None
        if work is None or work.begin != begin:
            work = self._thread.submit(self._prepare, begin).result()
        self._ahead = self._thread.submit(self._prepare, work.end)
        return work

    def _prepare(self, begin: int) -> Work:
        end = begin + self.world_size * self.accumulate
        found = [self.batches[n] for n in range(begin, end)[self.rank :: self.world_size]]
        own = [(one.source, one.target) for one in found]
        if self.pinned:
            own = [(source.pin_memory(), target.pin_memory()) for source, target in own]
        tokens = sum(self.batches.predicted(n) for n in range(begin, end))
        ends_epoch = self.batches.epoch_of(end) > self.batches.epoch_of(begin)
        return Work(begin, own, tokens, end, ends_epoch)
