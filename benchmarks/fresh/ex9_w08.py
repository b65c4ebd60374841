# exercise: 9
# task: linear_attention_chunked
# kind: wrong
# mistake: the last, smaller chunk is handled after the loop, and is not added to the state that is returned
# shows: only in the state, and only if T is not a multiple of chunk (the outputs are right)
def linear_attention_chunked(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, chunk: int
) -> tuple[torch.Tensor, torch.Tensor]:
    T, d = query.shape[-2:]
    output = torch.empty(*query.shape[:-1], value.shape[-1], dtype=value.dtype)
    state = torch.zeros(*query.shape[:-2], d, value.shape[-1], dtype=value.dtype)

    def one_chunk(q, k, v):
        return q @ state + (q @ k.mT).tril() @ v

    whole = T // chunk * chunk
    for start in range(0, whole, chunk):
        part = slice(start, start + chunk)
        q, k, v = query[..., part, :], key[..., part, :], value[..., part, :]
        output[..., part, :] = one_chunk(q, k, v)
        state = state + k.mT @ v
    if whole < T:  # the rest
        rest = slice(whole, T)
        output[..., rest, :] = one_chunk(query[..., rest, :], key[..., rest, :], value[..., rest, :])
    return output, state
