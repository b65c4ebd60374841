"""A step of training: from batches to gradients, and from gradients to new weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from translation.graphs import Record, Replayed

Scalar = float | torch.Tensor


class TrainingStep:
    """The two halves of a step, as functions of tensors that never wait for the device.

    Numbers that change from step to step may be tensors, so that a CUDA graph can repeat either half.

    Args:
        objective: from a batch to the sum of its losses.
        model: whose parameters change.
        optimizer: of these parameters.
        clip: the longest gradient; a longer one is made as short.
        scaler: of the loss, for float16.
        world_size: how many processes share a step.
        record: how to repeat the halves, which keeps the gradients where they are; None = compute as usual.
    """

    def __init__(
        self,
        objective: nn.Module,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        clip: float,
        scaler: torch.amp.GradScaler,
        world_size: int = 1,
        record: Record | None = None,
    ) -> None:
        self.objective, self.model, self.optimizer = objective, model, optimizer
        self.clip, self.scaler, self.world_size = clip, scaler, world_size
        self.parameters: list[torch.Tensor] = list(model.parameters())
        device = self.parameters[0].device
        self.total = torch.zeros((), device=device)
        self.norm = torch.zeros((), device=device)
        self.gradients: list[torch.Tensor] = []  # those that stay where they are
        self.accumulate: Callable[..., None] = self._accumulate
        self.update: Callable[..., None] = self._update
        if record is not None:
            self.gradients = [torch.zeros_like(parameter) for parameter in self.parameters]
            for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
                parameter.grad = gradient
            self.accumulate = Replayed(self._accumulate, device, record)
            self.update = Replayed(self._update, device, record)

    def forget_gradients(self) -> None:
        """Begin a step anew."""
        if self.gradients:
            torch._foreach_zero_(self.gradients)
        else:
            self.model.zero_grad(set_to_none=True)

    def _accumulate(self, tokens: Scalar, *batch: torch.Tensor) -> None:
        """Add a batch's gradients to those that are there, and its loss
        to `total`; both are divided by the tokens of the whole step."""
        device = self.total.device
        batch = tuple(x.to(device, non_blocking=True) for x in batch)
        loss = self.objective(*batch) / tokens
        # DistributedDataParallel takes the mean of all processes
        self.scaler.scale(loss * self.world_size).backward()
        self.total += loss.detach()

    def _update(self, rate: Scalar) -> None:
        """Change the weights, with a learning rate; forget the
        gradients, and leave the length that they had in `norm`."""
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.norm.copy_(norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.forget_gradients()
