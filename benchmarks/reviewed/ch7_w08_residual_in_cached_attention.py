# exercise: 7
# task: cached_attention
# kind: wrong
# mistake: the input is added to the output, as a decoder layer does it around its attention
# shows: in every output, by exactly x; the cache is right
# review: not named, numbers only
def cached_attention(
    mha: MultiHeadAttention, x: torch.Tensor, cache: dict[str, torch.Tensor] | None = None
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    query, key, value = (
        split_heads(project(x), mha.n_heads) for project in (mha.w_q, mha.w_k, mha.w_v)
    )
    if cache is not None:
        key = torch.cat([cache["key"], key], dim=2)
        value = torch.cat([cache["value"], value], dim=2)
    output, _ = mha.attention(query, key, value, None)
    return x + mha.w_o(merge_heads(output)), {"key": key, "value": value}
