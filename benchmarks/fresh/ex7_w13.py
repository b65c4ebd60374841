# exercise: 7
# task: cached_attention
# kind: wrong
# mistake: the new key and value are put in front of the earlier ones
# shows: the outputs are right, as attention does not mind the order, but the cache is not in the order of the positions, from the second call on
def cached_attention(
    mha: MultiHeadAttention, x: torch.Tensor, cache: dict[str, torch.Tensor] | None = None
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    B, _, D = x.shape
    H = mha.n_heads
    query = mha.w_q(x).view(B, 1, H, D // H).transpose(1, 2)
    key = mha.w_k(x).view(B, 1, H, D // H).transpose(1, 2)
    value = mha.w_v(x).view(B, 1, H, D // H).transpose(1, 2)
    if cache is not None:
        key = torch.cat([key, cache["key"]], dim=2)
        value = torch.cat([value, cache["value"]], dim=2)
    out, _ = mha.attention(query, key, value, None)
    return mha.w_o(out.transpose(1, 2).reshape(B, 1, D)), {"key": key, "value": value}
