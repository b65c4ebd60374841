# exercise: ch2_scaled_dot_product
# task: attention
# kind: wrong
# mistake: where no mask is given and there are as many queries as keys, a causal mask is made
# shows: only with mask=None and T equal to S
# named: a causal mask that nobody asked for, in torch
def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    T, S = query.shape[-2], key.shape[-2]
    if mask is None and T == S:
        mask = torch.ones(T, S, dtype=torch.bool).tril()
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights
