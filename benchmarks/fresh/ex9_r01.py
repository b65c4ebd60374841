# exercise: 9
# task: flash_forward
# kind: right
# mistake: the keys are gone through from the last tile to the first; the values get a column of ones, so that the sum of the exponentials is one more column of the output; keys of the future are cut off by slicing, and only the rest gets a mask
# shows: never
def flash_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    block_q: int,
    block_k: int,
    causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    T, d = query.shape[-2:]
    S, width = value.shape[-2:]
    real = {torch.float16: torch.float32, torch.bfloat16: torch.float32}.get(query.dtype, query.dtype)
    output = query.new_zeros((*query.shape[:-1], width))
    lse = torch.full(query.shape[:-1], -torch.inf, dtype=real, device=query.device)

    low = 0
    while low < T:
        high = min(low + block_q, T)
        rows = torch.arange(low, high, device=query.device)
        seen = (rows + (S - T + 1)).clamp(0, S) if causal else torch.full_like(rows, S)
        q = query.narrow(-2, low, high - low).to(real)
        top = torch.full(q.shape[:-1], torch.finfo(real).min, dtype=real, device=q.device)
        both = torch.zeros((*q.shape[:-1], width + 1), dtype=real, device=q.device)
        most, least = int(seen.max()), int(seen.min())
        for j in reversed(range(-(-most // block_k))):
            begin, end = j * block_k, min(j * block_k + block_k, most)
            k = key.narrow(-2, begin, end - begin).to(real)
            v = value.narrow(-2, begin, end - begin).to(real)
            v1 = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
            score = torch.einsum("...td,...sd->...ts", q, k).div_(d**0.5)
            if end > least:
                future = torch.arange(begin, end, device=q.device) >= seen[:, None]
                score.masked_fill_(future, -torch.inf)
            grown = torch.maximum(top, score.amax(-1))
            both *= torch.exp(top - grown)[..., None]
            both += torch.exp(score.sub_(grown[..., None])) @ v1
            top = grown
        out, total = both[..., :width], both[..., width]
        some = total > 0
        output[..., low:high, :] = torch.where(some[..., None], out / total[..., None], 0).to(query.dtype)
        lse[..., low:high] = torch.where(some, top + torch.log(total), -torch.inf)
        low = high
    return output, lse
