# exercise: 7
# task: cached_attention
# kind: wrong
# mistake: the scaled dot-product attention is written out and mha.attention is not called
# shows: only where the layer has another attention function than the default
def cached_attention(
    mha: MultiHeadAttention, x: torch.Tensor, cache: dict[str, torch.Tensor] | None = None
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    B, _, D = x.shape
    H = mha.n_heads
    query = mha.w_q(x).view(B, 1, H, D // H).transpose(1, 2)
    key = mha.w_k(x).view(B, 1, H, D // H).transpose(1, 2)
    value = mha.w_v(x).view(B, 1, H, D // H).transpose(1, 2)
    if cache is not None:
        key = torch.cat([cache["key"], key], dim=2)
        value = torch.cat([cache["value"], value], dim=2)
    weights = torch.softmax(query @ key.transpose(2, 3) / (D // H) ** 0.5, dim=-1)
    out = weights @ value
    return mha.w_o(out.transpose(1, 2).reshape(B, 1, D)), {"key": key, "value": value}
