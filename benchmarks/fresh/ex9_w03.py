# exercise: 9
# task: flash_forward
# kind: wrong
# mistake: the lse is converted to the data type of the query at the end, together with the output
# shows: only for float16 and bfloat16 inputs: the lse is half precision instead of float32
def flash_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    block_q: int,
    block_k: int,
    causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = query.dtype
    acc = torch.float64 if dtype == torch.float64 else torch.float32
    T, d = query.shape[-2:]
    S, dv = value.shape[-2:]
    outputs, lses = [], []
    for start in range(0, T, block_q):
        q = query[..., start : start + block_q, :].to(acc) * d**-0.5
        n = q.shape[-2]
        position = torch.arange(start, start + n)[:, None] + (S - T)
        m = q.new_full(q.shape[:-1], -float("inf"))
        total = torch.zeros_like(m)
        out = q.new_zeros(*q.shape[:-1], dv)
        for begin in range(0, S, block_k):
            k = key[..., begin : begin + block_k, :].to(acc)
            v = value[..., begin : begin + block_k, :].to(acc)
            s = q @ k.transpose(-1, -2)
            if causal:
                s = s.masked_fill(torch.arange(begin, begin + k.shape[-2]) > position, -float("inf"))
            m_new = torch.maximum(m, s.max(dim=-1).values)
            safe = m_new.masked_fill(m_new == -float("inf"), 0.0)
            p = torch.exp(s - safe[..., None])
            alpha = torch.exp(m - safe)
            total = alpha * total + p.sum(-1)
            out = alpha[..., None] * out + p @ v
            m = m_new
        out = out / total.masked_fill(total == 0, 1.0)[..., None]
        outputs.append(out.to(dtype))
        lses.append((m + total.log()).to(dtype))
    return torch.cat(outputs, dim=-2), torch.cat(lses, dim=-1)
