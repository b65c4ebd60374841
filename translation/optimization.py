"""The learning rate of each step, and the optimizers that take it."""

from __future__ import annotations

import math
from typing import Any

import torch

from solutions.ch7_training import noam_rate
from translation.model import FastTransformer
from translation.muon import Muon
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


def optimizers(
    model: FastTransformer, settings: Settings, device: str, decay_all: bool = False
) -> list[torch.optim.Optimizer]:
    """AdamW for all parameters, or Muon (Jordan et al. 2024) for the matrices in the layers and AdamW for
    the others. Muon's steps are scaled so that both take the same rate (Liu et al. 2025).

    Args:
        model: whose parameters they are.
        settings: those of the run.
        device: the type of device that the model is on.
        decay_all: whether weight decay is also for biases and the gains of layer norms, as it was once.
    """
    layers = [*model.encoder.parameters(), *model.decoder.parameters()]
    muon = settings.optimizer == "muon"
    matrices = [parameter for parameter in layers if parameter.dim() == 2] if muon else []
    chosen = {id(parameter) for parameter in matrices}
    others = [parameter for parameter in model.parameters() if id(parameter) not in chosen]
    groups: list[dict[str, Any]] = [{"params": others}]
    if settings.weight_decay and not decay_all:
        vectors = [parameter for parameter in others if parameter.dim() < 2]
        groups = [
            {"params": [parameter for parameter in others if parameter.dim() >= 2]},
            {"params": vectors, "weight_decay": 0.0},
        ]
    made: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(
            groups,
            betas=(0.9, 0.98),
            eps=settings.epsilon,
            weight_decay=settings.weight_decay,
            fused=device in ("cpu", "cuda"),
            capturable=device == "cuda",  # a CUDA graph may repeat its step
        )
    ]
    if muon:
        made.append(Muon(matrices, settings.weight_decay))
    return made


def restore(optimizer: torch.optim.Optimizer, state: dict) -> None:
    """Load an optimizer's state, but not its options, which belong to a run's settings and device."""
    own = [{n: v for n, v in group.items() if n != "params"} for group in optimizer.param_groups]
    optimizer.load_state_dict(state)
    for group, options in zip(optimizer.param_groups, own, strict=True):
        group.update(options)
