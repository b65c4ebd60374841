# exercise: 9
# task: flash_forward
# kind: wrong
# mistake: the running maximum is taken over all scores of a tile before the causal mask is applied, so a large score of a future key makes all allowed exponentials underflow
# shows: only with causal=True in a tile that the mask cuts, when a future key's score is far above (hundreds) all allowed ones: output 0 and lse minus infinity
def flash_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    block_q: int,
    block_k: int,
    causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    T, S, dv = query.shape[-2], key.shape[-2], value.shape[-1]
    work = torch.float32 if query.dtype in (torch.float16, torch.bfloat16) else query.dtype
    lead = query.shape[:-2]
    output = torch.zeros(*lead, T, dv, dtype=query.dtype)
    lse = torch.zeros(*lead, T, dtype=work)
    for q0 in range(0, T, block_q):
        q1 = min(q0 + block_q, T)
        q = query[..., q0:q1, :].to(work) / query.shape[-1] ** 0.5
        m = torch.full((*lead, q1 - q0), -torch.inf, dtype=work)
        l = torch.zeros(*lead, q1 - q0, dtype=work)
        o = torch.zeros(*lead, q1 - q0, dv, dtype=work)
        for k0 in range(0, S, block_k):
            k1 = min(k0 + block_k, S)
            if causal and k0 > q1 - 1 + S - T:
                break
            scores = q @ key[..., k0:k1, :].to(work).mT
            new_m = torch.maximum(m, scores.amax(dim=-1))
            p = torch.exp(scores - new_m.unsqueeze(-1))
            if causal:
                rows = torch.arange(q0, q1).unsqueeze(-1) + S - T
                p = p.masked_fill(torch.arange(k0, k1) > rows, 0)
            fix = torch.exp(m - new_m)
            l = l * fix + p.sum(dim=-1)
            o = o * fix.unsqueeze(-1) + p @ value[..., k0:k1, :].to(work)
            m = new_m
        empty = l == 0
        output[..., q0:q1, :] = (o / torch.where(empty, 1, l).unsqueeze(-1)).to(query.dtype)
        lse[..., q0:q1] = torch.where(empty, -torch.inf, m + torch.log(l))
    return output, lse
