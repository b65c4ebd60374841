"""Knowledge distillation: what trained models predict for the training pairs, as further targets.

A new model learns from the whole distribution over the next piece that its teachers give at each place
(Hinton et al. 2015, arXiv 1503.02531, section 2; for translation Kim and Rush 2016, arXiv 1606.07947,
section 3.1), and not from the one piece that the reference happens to have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from solutions.ch6_transformer import shift
from translation.batches import Batch, Batches
from translation.machine import Machine
from translation.model import FastTransformer
from translation.tokenizer import PAD

PIECES = 32  # kept at each place; a whole distribution would be a number for each piece


@dataclass(frozen=True)
class SoftTargets:
    """The likeliest pieces at each place of all target sentences.

    Sentence n is at the places `begins[n]` to `begins[n] + T - 1`, T being its length with EOS.

    Args:
        begins: (sentences,).
        pieces: (places, K), token numbers.
        probabilities: (places, K), of which each row sums to 1.
    """

    begins: np.ndarray
    pieces: torch.Tensor
    probabilities: torch.Tensor

    def of(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Pieces and probabilities (B, T, K) of a batch; at padding they mean nothing."""
        # the padding of the last sentence lies behind the last place
        places = _places(self.begins, batch).clamp_(max=len(self.pieces) - 1)
        return self.pieces[places].long(), self.probabilities[places].float()


def _places(begins: np.ndarray, batch: Batch) -> torch.Tensor:
    """The places (B, T) of a batch's target pieces among those of all sentences."""
    offsets = np.arange(batch.target.shape[1] - 1)
    return torch.from_numpy(begins[batch.rows, None] + offsets)


@torch.inference_mode()
def mean_prediction(
    models: Sequence[FastTransformer], batch: Batch, machine: Machine
) -> torch.Tensor:
    """The mean of the models' probabilities (N, V) at the N target pieces of a batch, padding left out."""
    source, target = (x.to(machine.device) for x in (batch.source, batch.target))
    target_in, target_out = shift(target)
    real = target_out != PAD
    mean = torch.zeros((), device=machine.device)
    for model in models:
        with machine.autocast():
            logits = model.project(model.hidden(source, target_in)[real])
        mean = mean + logits.float().softmax(dim=-1) / len(models)
    return mean


@torch.inference_mode()
def soft_targets(
    teachers: Sequence[FastTransformer], batches: Batches, machine: Machine
) -> SoftTargets:
    """What the teachers predict on average, for all pairs of the first epoch.

    Args:
        teachers: models of the same vocabulary.
        batches: of the pairs to train on.
        machine: where the teachers are.
    """
    lengths = batches.target_lengths
    begins = np.cumsum(lengths) - lengths
    few = min(PIECES, teachers[0].project.out_features)
    pieces = torch.zeros(int(lengths.sum()), few, dtype=torch.int32)
    probabilities = torch.zeros(pieces.shape, dtype=torch.float16)
    for teacher in teachers:
        teacher.eval()
    for n in range(len(batches)):
        batch = batches[n]
        likely, which = mean_prediction(teachers, batch, machine).topk(few)
        places = _places(begins, batch)[batch.target[:, 1:] != PAD]
        pieces[places] = which.cpu().int()
        probabilities[places] = (likely / likely.sum(dim=-1, keepdim=True)).cpu().half()
    return SoftTargets(begins, pieces, probabilities)
