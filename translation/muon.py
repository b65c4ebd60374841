"""Muon (Jordan et al. 2024), with one product for all matrices of the same shape."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import nn

COEFFICIENTS = 3.4445, -4.7750, 2.0315  # of Jordan et al.: they raise small singular values fastest
ITERATIONS = 5


def orthogonalise(matrices: torch.Tensor) -> torch.Tensor:
    """Matrices with the same singular vectors whose singular values are all near 1.

    It is Newton and Schulz's iteration with a polynomial of degree five.

    Args:
        matrices: (N, R, C), with R at most C.

    Returns:
        (N, R, C), of the same type; the singular values lie between 0.5 and 1.5, very small ones excepted.
    """
    a, b, c = COEFFICIENTS
    length = torch.linalg.vector_norm(matrices, dim=(1, 2), keepdim=True)
    x = matrices / length.clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


class Muon(torch.optim.Optimizer):
    """Momentum whose steps are orthogonal matrices, as `torch.optim.Muon` with "match_rms_adamw".

    PyTorch's goes through the matrices one by one, with some twenty kernels each. The rate may be a
    tensor, and nothing in a step waits for the device.

    Args:
        matrices: parameters of two dimensions.
        weight_decay: times the rate in each step.
        momentum: decay of the average of gradients.
        precision: number format of the orthogonalisation, for which bfloat16 is enough.
    """

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        weight_decay: float,
        momentum: float = 0.95,
        precision: torch.dtype = torch.bfloat16,
    ) -> None:
        super().__init__(matrices, {"lr": 1e-3, "weight_decay": weight_decay, "momentum": momentum})
        self.precision = precision

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # no closure
        """Change the matrices that have a gradient."""
        for group in self.param_groups:
            matrices = [p for p in group["params"] if p.grad is not None]
            for p in matrices:
                if "momentum_buffer" not in self.state[p]:
                    self.state[p]["momentum_buffer"] = torch.zeros_like(p)
            means = [self.state[p]["momentum_buffer"] for p in matrices]
            gradients = [p.grad for p in matrices]
            torch._foreach_lerp_(means, gradients, 1 - group["momentum"])
            directions = torch._foreach_lerp(gradients, means, group["momentum"])  # Nesterov's
            torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
            _subtract(matrices, directions, group["lr"], self.precision)


def _subtract(
    matrices: list[nn.Parameter],
    directions: Sequence[torch.Tensor],
    rate: float | torch.Tensor,
    precision: torch.dtype,
) -> None:
    """Subtract the orthogonal matrices next to the directions, times rates that make their entries about as
    large as those of AdamW's steps (Liu et al. 2025)."""
    shapes: dict[torch.Size, list[tuple[torch.Tensor, torch.Tensor]]] = {}
    for pair in zip(matrices, directions, strict=True):
        wide = [x.mT if x.shape[0] > x.shape[1] else x for x in pair]
        shapes.setdefault(wide[0].shape, []).append((wide[0], wide[1]))
    for shape, pairs in shapes.items():
        same, towards = zip(*pairs, strict=True)
        steps = orthogonalise(torch.stack(towards).to(precision)).to(same[0].dtype)
        steps *= -0.2 * math.sqrt(shape[1]) * rate
        torch._foreach_add_(same, steps.unbind())
