"""Training several networks of the same shapes at once, each with its
own start, data and learning rates.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def train_side_by_side(
    models: Sequence[nn.Module],
    sample: Callable[[], tuple[torch.Tensor, ...]],
    loss_of: Callable[..., torch.Tensor],
    rates: torch.Tensor,
) -> torch.Tensor:
    """Train M networks with Adam, as if each were trained alone.

    Args:
        models: the networks, which are changed. Dropout is off.
        sample: returns a batch: tensors (M, B, ...), a part for each
            network.
        loss_of: from a network and its part of a batch to its loss.
        rates: (steps, M), the learning rates.

    Returns:
        The losses, (steps, M).
    """
    first = models[0].eval()
    shapes = {n: p.shape for n, p in first.named_parameters()}
    sizes = [shape.numel() for shape in shapes.values()]
    # row i holds all parameters of network i
    theta = torch.stack(
        [parameters_to_vector(m.parameters()) for m in models]
    ).detach().requires_grad_()

    def loss_with(
        row: torch.Tensor, *batch: torch.Tensor
    ) -> torch.Tensor:
        parts = zip(shapes.items(), row.split(sizes), strict=True)
        own = {name: part.view(shape) for (name, shape), part in parts}
        return loss_of(
            lambda *inputs: functional_call(first, own, inputs), *batch
        )

    mean, square = torch.zeros_like(theta), torch.zeros_like(theta)
    history = []
    for step, rate in enumerate(rates, start=1):
        losses = vmap(loss_with)(theta, *sample())
        (gradient,) = torch.autograd.grad(losses.sum(), theta)
        # Adam, with the usual settings
        with torch.no_grad():
            mean.lerp_(gradient, 0.1)
            square.lerp_(gradient**2, 0.001)
            size = (square / (1 - 0.999**step)).sqrt() + 1e-8
            theta -= rate[:, None] * mean / (1 - 0.9**step) / size
        history.append(losses.detach())
    for model, row in zip(models, theta.detach(), strict=True):
        vector_to_parameters(row, model.eval().parameters())
    return torch.stack(history)
