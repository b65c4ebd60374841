"""CUDA graphs: the kernels of a function, recorded once and then started all together.

A small model's step is a thousand kernels. Python needs longer to start one than a large GPU needs to compute
it, so that the GPU waits most of the time. A graph of all of them is started by one call.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import ClassVar

import torch

Function = Callable[[], None]
Record = Callable[[Function], Function]


@functools.cache
def _first() -> torch.cuda.CUDAGraph:
    """A graph that stays: PyTorch closes a pool of memory when the last graph in it is gone."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.zeros((), device="cuda")
    return graph


def capture(function: Function) -> Function:
    """Record a function's kernels in a CUDA graph; nothing is computed yet.

    All graphs share one pool of memory, since nothing that a graph leaves lies there: see `Replayed`.

    Returns:
        The function that replays them, on the tensors that were there while they were recorded.
    """
    pool = _first().pool()
    graph = torch.cuda.CUDAGraph()
    try:
        with (
            # which PyTorch doesn't make the current one again if recording fails
            torch.cuda.stream(torch.cuda.current_stream()),
            # other threads, such as the one that prepares batches, may go on to allocate memory
            torch.cuda.graph(graph, pool, capture_error_mode="thread_local"),
        ):
            function()
    except RuntimeError:
        # the generator believes that it is being recorded still, and would refuse to draw
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        generator.graphsafe_set_state(generator.clone_state())
        raise
    return graph.replay


class Replayed:
    """A function that is recorded once for each shape of its arguments, and replayed from then on.

    The function leaves its results in tensors that it finds and that stay where they are. It never looks at
    a number on the device, and what it does depends on the shapes of its arguments alone. The first call
    with a shape computes as usual, so that libraries are set up and optimizers have their state; the second
    one records. If that fails, which leaves PyTorch in a state in which no other graph can be recorded or
    replayed, all functions compute as usual from then on, and one line says so.

    Args:
        function: takes tensors.
        device: where it computes.
        record: turns a function without arguments into one that repeats it.
    """

    refused: ClassVar[set[Record]] = set()  # the ways of recording that have failed

    def __init__(
        self,
        function: Callable[..., None],
        device: torch.device,
        record: Record = capture,
    ) -> None:
        self.function, self.device, self.record = function, device, record
        self.buffers: dict[tuple[torch.Size, ...], list[torch.Tensor]] = {}
        self.replays: dict[tuple[torch.Size, ...], Function] = {}

    def __call__(self, *arguments: torch.Tensor | float) -> None:
        """Do it, with arguments that are copied into tensors on the device; a number becomes a tensor of
        shape ()."""
        shapes = tuple(x.shape if isinstance(x, torch.Tensor) else torch.Size() for x in arguments)
        again = shapes in self.buffers
        if not again:
            self.buffers[shapes] = [
                torch.empty_like(x, device=self.device)
                if isinstance(x, torch.Tensor)
                else torch.zeros((), device=self.device)
                for x in arguments
            ]
        for buffer, x in zip(self.buffers[shapes], arguments, strict=True):
            if isinstance(x, torch.Tensor):
                buffer.copy_(x, non_blocking=True)
            else:
                buffer.fill_(x)
        usual = functools.partial(self.function, *self.buffers[shapes])
        if again and shapes not in self.replays and self.record not in self.refused:
            self._record(shapes, usual)
        repeat = usual if self.record in self.refused else self.replays.get(shapes, usual)
        repeat()

    def _record(self, shapes: tuple[torch.Size, ...], function: Function) -> None:
        """Record a function, or note that it can't be done."""
        try:
            self.replays[shapes] = self.record(function)
        except RuntimeError as error:
            self.refused.add(self.record)
            reason = str(error).partition("\n")[0]
            print(f"goes on without CUDA graphs, since recording failed: {reason}", file=sys.stderr)
