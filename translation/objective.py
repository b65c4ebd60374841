"""What training makes small: the loss of a batch."""

from __future__ import annotations

import torch
from torch import nn

from solutions.ch6_transformer import shift
from translation.loss import linear_cross_entropy
from translation.machine import Machine
from translation.model import FastTransformer
from translation.tokenizer import PAD


class Objective(nn.Module):
    """From a batch to its loss: the model and the loss in one module, which several processes share.

    Args:
        model: what is trained or judged.
        machine: what it is on.
        smoothing: label smoothing.
    """

    def __init__(self, model: FastTransformer, machine: Machine, smoothing: float) -> None:
        super().__init__()
        self.model, self.machine, self.smoothing = model, machine, smoothing

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Sum of the losses of all real tokens of source (B, S) and target (B, T + 1)."""
        target_in, target_out = shift(target)
        with self.machine.autocast():
            hidden = self.model.hidden(source, target_in)
        last, dtype = self.model.project, self.machine.dtype
        hidden, target_out = hidden.float().flatten(0, 1), target_out.flatten()
        return linear_cross_entropy(
            hidden, last.weight, last.bias, target_out, self.smoothing, PAD, dtype
        )
