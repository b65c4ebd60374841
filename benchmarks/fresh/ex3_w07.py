# exercise: 3
# task: grouped_query_attention
# kind: wrong
# mistake: the heads of a group are folded into the query axis, and the mask's query axis is then repeated element by element (repeat_interleave) where it has to be tiled
# shows: with a mask that has no head axis but differs between queries, such as (T, S) or (B, 1, T, S), when T > 1 and G < H
def grouped_query_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    B, H, T, d = query.shape
    G, S = key.shape[1:3]
    if H % G:
        raise ValueError(f"{G} groups do not divide {H} heads")
    r = H // G
    folded = query.reshape(B, G, r * T, d)  # all queries of a group in one axis
    if mask is not None:
        while mask.dim() < 4:
            mask = mask.unsqueeze(0)
        if mask.shape[1] == H and H > 1:
            mask = mask.expand(-1, -1, T, S).reshape(mask.shape[0], G, r * T, S)
        elif mask.shape[2] == T and T > 1:
            mask = mask.repeat_interleave(r, dim=2)
    out, weights = attention(folded, key, value, mask)
    return out.reshape(B, H, T, d), weights.reshape(B, H, T, S)
