"""What training makes small: the loss of a batch."""

from __future__ import annotations

import torch
from torch import nn

from solutions.ch6_transformer import shift
from translation.loss import divergence, linear_cross_entropy
from translation.machine import Machine
from translation.model import FastTransformer
from translation.tokenizer import PAD


class Objective(nn.Module):
    """From a batch to its loss: the model and the loss in one module, which several processes share.

    Args:
        model: what is trained or judged.
        machine: what it is on.
        smoothing: label smoothing.
        rdrop: in training, go through the model twice, with different dropout, and add this weight times
            the difference of the two (Liang et al. 2021); 0 = go through it once.
        distill: how much of the loss is about the teachers' predictions, where there are any.
    """

    def __init__(
        self,
        model: FastTransformer,
        machine: Machine,
        smoothing: float,
        rdrop: float = 0.0,
        distill: float = 0.0,
    ) -> None:
        super().__init__()
        self.model, self.machine = model, machine
        self.smoothing, self.rdrop, self.distill = smoothing, rdrop, distill

    def forward(
        self, source: torch.Tensor, target: torch.Tensor, *soft: torch.Tensor
    ) -> torch.Tensor:
        """Sum of the losses of all real tokens of source (B, S) and target (B, T + 1), and of the pieces
        and probabilities (B, T, K) that teachers expect, if there are any.

        With R-Drop it is half of the paper's, so that it can be compared with the loss without."""
        twice = self.training and self.rdrop > 0
        if twice:
            source, target = source.repeat(2, 1), target.repeat(2, 1)
            soft = tuple(x.repeat(2, 1, 1) for x in soft)
        target_in, target_out = shift(target)
        with self.machine.autocast():
            hidden = self.model.hidden(source, target_in)
        hidden, target_out = hidden.float().flatten(0, 1), target_out.flatten()
        weight, bias = self.model.project.weight, self.model.project.bias
        dtype = self.machine.dtype
        expected = (soft[0].flatten(0, 1), soft[1].flatten(0, 1)) if soft else None
        share = self.distill if soft else 0.0
        loss = linear_cross_entropy(
            hidden, weight, bias, target_out, self.smoothing, PAD, dtype, expected, share
        )
        if not twice:
            return loss
        real, _ = (target_out != PAD).chunk(2)
        one, other = hidden.chunk(2)
        return (loss + self.rdrop * divergence(one, other, weight, bias, real, dtype)) / 2
