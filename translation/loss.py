"""The loss of chapter 7 together with the model's last layer, a slice of tokens at a time.

The logits of a batch are its largest tensor by far: 8,192 tokens and 10,000 pieces are 330 MB, and
autograd keeps several tensors of that size. Here the gradient is computed with the loss, slice by
slice, so that one slice of logits is all that exists at any time.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

SLICE = {"cpu": 2**21}  # logits in a slice: 8 MB, which stay in a processor's cache
LARGE_SLICE = 2**28


class _LinearCrossEntropy(torch.autograd.Function):
    """Sum of the losses; the gradients are computed in forward, and only scaled in backward."""

    @staticmethod
    def forward(ctx, hidden, weight, bias, targets, *more):
        smoothing, pad, precision = more
        wanted = any(ctx.needs_input_grad)
        elements = SLICE.get(hidden.device.type, LARGE_SLICE)
        size = max(1, elements // len(weight))
        inputs = hidden, weight, bias
        low, low_weight, low_bias = (x.to(precision) for x in inputs)
        mean_weight, mean_bias = weight.mean(dim=0), bias.mean()
        total = torch.zeros((), device=hidden.device)
        of_hidden = torch.empty_like(hidden)
        of_weight, of_bias = map(torch.zeros_like, (weight, bias))
        for begin in range(0, len(hidden), size):
            rows = slice(begin, begin + size)
            x = low[rows]
            real = (targets[rows, None] != pad).float()  # (n, 1)
            right = targets[rows, None]
            logits = F.linear(x, low_weight, low_bias).float()  # (n, V)
            at_right = logits.gather(1, right)
            mean = hidden[rows].float() @ mean_weight + mean_bias
            largest = logits.amax(dim=1, keepdim=True)
            p = logits.sub_(largest).exp_()
            sums = p.sum(dim=1, keepdim=True)
            loss = largest + sums.log() - (1 - smoothing) * at_right
            loss = loss - smoothing * mean[:, None]
            total += (loss * real).sum()
            if wanted:
                shared = smoothing / len(weight)
                p.mul_(real / sums).sub_(real * shared)
                p.scatter_add_(1, right, real * (smoothing - 1))
                of_bias += p.sum(dim=0)
                p = p.to(precision)
                of_hidden[rows] = p @ low_weight
                if p.dtype == of_weight.dtype:
                    # without a matrix for the product
                    of_weight.addmm_(p.T, x)
                else:
                    of_weight += p.T @ x
        if wanted:
            ctx.save_for_backward(of_hidden, of_weight, of_bias)
        return total

    @staticmethod
    def backward(ctx, scale):
        return *(gradient * scale for gradient in ctx.saved_tensors), *(None,) * 4


def linear_cross_entropy(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    targets: torch.Tensor,
    smoothing: float,
    pad: int,
    precision: torch.dtype = torch.float32,
) -> torch.Tensor:
    """Sum of the cross-entropies with label smoothing of all real tokens.

    It is chapter 7's `smoothed_cross_entropy` of the logits `hidden @ weight.T + bias`, times the number
    of real tokens.

    Args:
        hidden: (N, D), what the decoder's last layer gives.
        weight: (V, D) and bias (V,): the model's last layer.
        targets: (N,), integers.
        smoothing: the share that is spread over all V tokens.
        pad: the target that marks padding.
        precision: number format of the matrix products; sums and exponentials are in float32.

    Returns:
        A tensor with one number, shape ().
    """
    return _LinearCrossEntropy.apply(hidden, weight, bias, targets, smoothing, pad, precision)
