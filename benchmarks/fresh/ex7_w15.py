# exercise: 7
# task: cached_attention
# kind: wrong
# mistake: the dictionary that comes in is updated and returned, so that two continuations cannot start from it
# shows: from the second call on: the cache that came in holds t + 1 positions afterwards
def cached_attention(
    mha: MultiHeadAttention, x: torch.Tensor, cache: dict[str, torch.Tensor] | None = None
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    cache = {} if cache is None else cache

    def heads(z: torch.Tensor) -> torch.Tensor:
        return z.unflatten(-1, (mha.n_heads, -1)).transpose(1, 2)  # (B, H, 1, d)

    for name, layer in (("key", mha.w_k), ("value", mha.w_v)):
        new = heads(layer(x))
        cache[name] = torch.cat([cache[name], new], dim=2) if name in cache else new
    out, _ = mha.attention(heads(mha.w_q(x)), cache["key"], cache["value"], None)
    return mha.w_o(out.transpose(1, 2).flatten(2)), cache
