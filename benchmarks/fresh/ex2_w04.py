# exercise: 2
# task: attention
# kind: wrong
# mistake: minus infinity is added to the masked scores (as in the code of PyTorch's documentation) and empty rows are repaired after the softmax by nan_to_num, which leaves NaN in the backward pass
# shows: gradients of query and key are NaN where a query has nothing to attend to; the values are right
def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
        bias = bias.masked_fill(mask.logical_not(), float("-inf"))
        scores = scores + bias
    weights = torch.softmax(scores, dim=-1)
    weights = torch.nan_to_num(weights, nan=0.0)
    return weights @ value, weights
