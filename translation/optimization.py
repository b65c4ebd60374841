"""The learning rate of each step, and the optimizer that takes it."""

from __future__ import annotations

import math
from typing import Any

import torch

from solutions.ch7_training import noam_rate
from translation.model import FastTransformer
from translation.settings import Settings


def learning_rate(step: int, settings: Settings) -> float:
    """The rate of a step: it rises to `rate` in `warmup` steps, then falls.

    It falls with the inverse square root of the step (Vaswani et al. 2017, equation 3) if `schedule`
    is "noam", or with a half cosine that ends at zero after the last step (Loshchilov and Hutter 2017)
    if it is "cosine".
    """
    warmup = settings.warmup
    if settings.schedule == "noam":
        width = settings.d_model
        return settings.rate * noam_rate(step, width, warmup) / noam_rate(warmup, width, warmup)
    if step < warmup:
        return settings.rate * step / warmup
    done = (step - warmup) / max(1, settings.steps - warmup)
    return settings.rate * 0.5 * (1 + math.cos(math.pi * done))


def optimizer(model: FastTransformer, settings: Settings, device: str) -> torch.optim.Optimizer:
    """AdamW (Loshchilov and Hutter 2019), which is Adam without weight decay. Biases and the gains of
    layer norms don't decay.

    Args:
        model: whose parameters it changes.
        settings: those of the run.
        device: the type of device that the model is on.
    """
    matrices = [one for one in model.parameters() if one.dim() >= 2]
    vectors = [one for one in model.parameters() if one.dim() < 2]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(
        groups,
        betas=(0.9, 0.98),
        eps=settings.epsilon,
        weight_decay=settings.weight_decay,
        fused=device in ("cpu", "cuda"),
        capturable=device == "cuda",  # a CUDA graph may repeat its step
    )


def restore(optimizer: torch.optim.Optimizer, state: dict) -> None:
    """Load an optimizer's state, but not its options, which belong to a run's settings and device."""
    own = [{n: v for n, v in group.items() if n != "params"} for group in optimizer.param_groups]
    optimizer.load_state_dict(state)
    for group, options in zip(optimizer.param_groups, own, strict=True):
        group.update(options)
