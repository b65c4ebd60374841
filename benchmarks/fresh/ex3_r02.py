# exercise: 3
# task: grouped_query_attention
# kind: right
# mistake: none; unusual: a loop over the heads, each with its own slice of the expanded mask, and a softmax written out with a detached maximum over the allowed keys
# shows: never
def grouped_query_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    n_batch, n_heads, n_query, width = query.shape
    n_groups, n_key = key.shape[1], key.shape[2]
    if n_groups == 0 or n_heads % n_groups != 0:
        raise ValueError(f"{n_heads} heads of queries, but {n_groups} groups of keys")
    if mask is None:
        mask = torch.ones(1, dtype=torch.bool, device=query.device)
    mask = torch.broadcast_to(mask, (n_batch, n_heads, n_query, n_key))
    outputs, all_weights = [], []
    for h in range(n_heads):
        g = h * n_groups // n_heads
        scores = torch.einsum("btd,bsd->bts", query[:, h], key[:, g]) * width**-0.5
        allowed = mask[:, h]
        scores = torch.where(allowed, scores, scores.new_full((), -torch.inf))
        top = scores.detach().amax(dim=-1, keepdim=True)
        top = torch.where(top == -torch.inf, torch.zeros_like(top), top)
        e = torch.exp(scores - top)
        total = e.sum(dim=-1, keepdim=True)
        weights = e / torch.where(total == 0, torch.ones_like(total), total)
        all_weights.append(weights)
        outputs.append(torch.einsum("bts,bsd->btd", weights, value[:, g]))
    return torch.stack(outputs, dim=1), torch.stack(all_weights, dim=1)
