"""CUDA graphs: the kernels of a function, recorded once and then started all together.

A small model's step is a thousand kernels. Python needs longer to start one than a large GPU needs to compute
it, so that the GPU waits most of the time. A graph of all of them is started by one call.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

import torch

Function = Callable[[], None]
Record = Callable[[Function], Function]


_pool = functools.cache(torch.cuda.graph_pool_handle)


def capture(function: Function) -> Function:
    """Record a function's kernels in a CUDA graph; nothing is computed yet.

    All graphs share one pool of memory, since nothing that a graph leaves lies there: see `Replayed`.

    Returns:
        The function that replays them, on the tensors that were there while they were recorded.
    """
    graph = torch.cuda.CUDAGraph()
    with (
        # which PyTorch doesn't make the current one again if recording fails
        torch.cuda.stream(torch.cuda.current_stream()),
        # other threads, such as the one that prepares batches, may go on to allocate memory
        torch.cuda.graph(graph, _pool(), capture_error_mode="thread_local"),
    ):
        function()
    return graph.replay


class Replayed:
    """A function that is recorded once for each shape of its arguments, and replayed from then on.

    The function leaves its results in tensors that it finds and that stay where they are. It never looks at
    a number on the device, and what it does depends on the shapes of its arguments alone. The first call
    with a shape computes as usual, so that libraries are set up and optimizers have their state; the second
    one records. If that fails, this call and all others compute as usual, and one line says so.

    Args:
        function: takes tensors.
        device: where it computes.
        record: turns a function without arguments into one that repeats it.
    """

    def __init__(
        self,
        function: Callable[..., None],
        device: torch.device,
        record: Record = capture,
    ) -> None:
        self.function, self.device = function, device
        self.record: Record | None = record
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
        if again and shapes not in self.replays:
            self.replays[shapes] = self._recorded(usual)
        self.replays.get(shapes, usual)()

    def _recorded(self, function: Function) -> Function:
        """The function that replays another one, or that one if it can't be recorded."""
        if self.record is None:
            return function
        try:
            return self.record(function)
        except RuntimeError as error:
            self.record = None
            reason = str(error).partition("\n")[0]
            print(f"goes on without CUDA graphs, since recording failed: {reason}", file=sys.stderr)
            return function
