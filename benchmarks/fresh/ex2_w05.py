# exercise: 2
# task: attention
# kind: wrong
# mistake: the leading axes are flattened with view, which needs a compatible memory layout
# shows: a RuntimeError for query, key or value whose leading axes are not laid out contiguously, e.g. (B, T, H, d) transposed to (B, H, T, d) with B, H > 1
def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    lead = query.shape[:-2]
    T, dk = query.shape[-2:]
    S, dv = value.shape[-2:]
    q = query.view(-1, T, dk)
    k = key.view(-1, S, dk)
    v = value.view(-1, S, dv)
    scores = torch.bmm(q, k.transpose(1, 2)) / dk**0.5
    if mask is not None:
        mask = mask.expand(*lead, T, S).reshape(-1, T, S)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    output = torch.bmm(weights, v)
    return output.view(*lead, T, dv), weights.view(*lead, T, S)
