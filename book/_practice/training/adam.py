"""Adam for what learns in pages, where torch's optimizers aren't."""

from __future__ import annotations

from collections.abc import Iterable

import torch


class Adam:
    """Changes parameters by their gradients, as `torch.optim.Adam` does.

    They lie one after another in one tensor, so that a step is a few operations and not a few for each.
    """

    def __init__(
        self, parameters: Iterable[torch.Tensor], betas: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        self.parameters, self.betas, self.steps = [*parameters], betas, 0
        self.numbers = torch.cat([one.detach().flatten() for one in self.parameters])
        self.mean, self.square = (torch.zeros_like(self.numbers) for _ in betas)
        sizes = [one.numel() for one in self.parameters]
        for one, part in zip(self.parameters, self.numbers.split(sizes), strict=True):
            one.data = part.view(one.shape)

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Take a step, and forget the gradients."""
        self.steps += 1
        given = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        gradient = torch.cat([one.flatten() for one in given])
        first, second = self.betas
        self.mean.mul_(first).add_(gradient * (1 - first))
        self.square.mul_(second).add_(gradient * gradient * (1 - second))
        size = (self.square / (1 - second**self.steps)).sqrt() + 1e-8
        self.numbers.sub_(self.mean / size * (rate / (1 - first**self.steps)))
        for one in self.parameters:
            one.grad = None
