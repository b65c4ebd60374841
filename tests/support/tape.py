"""A stand-in for CUDA graphs on a CPU: operators are noted once, then computed again on the same memory.

As with `torch.cuda.graph`, nothing of Python runs when they are repeated: a number that Python has looked up,
or an attribute that names another tensor since, stays as it was noted. And noting them changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2")


class Tape(TorchDispatchMode):
    """Notes operators with their arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[Callable, tuple, dict, list[torch.Tensor]]] = []
        self.before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}
        self.own: set[int] = set()  # memory that came into being meanwhile

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Note an operator and compute it."""
        name = function.overloadpacket.__name__
        if name in WAITS:
            raise RuntimeError(f"{name} is not permitted while a graph is recorded")
        kwargs = kwargs or {}
        for x in _tensors((args, kwargs)):
            storage = x.untyped_storage()
            if storage.data_ptr() not in self.own:
                self.before.setdefault(storage.data_ptr(), (storage, storage.clone()))
        results = function(*args, **kwargs)
        given = {x.untyped_storage().data_ptr() for x in _tensors((args, kwargs))}
        found = [x.untyped_storage().data_ptr() for x in _tensors(results)]
        self.own |= {*found} - given - self.before.keys()
        self.notes.append((function, args, kwargs, _tensors(results)))
        return results

    def undo(self) -> None:
        """Give all tensors that were there before the numbers that they had."""
        for storage, kept in self.before.values():
            storage.copy_(kept)

    @torch.no_grad()
    def replay(self) -> None:
        """Compute all again, into the same memory."""
        for function, args, kwargs, noted in self.notes:
            for old, new in zip(noted, _tensors(function(*args, **kwargs)), strict=True):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


def record(function: Callable[[], None]) -> Callable[[], None]:
    """As `translation.graphs.capture`, but on a CPU."""
    tape = Tape()
    with torch.random.fork_rng(devices=[]), tape:
        function()
    tape.undo()
    return tape.replay
