# exercise: 9
# task: flash_backward
# kind: wrong
# mistake: D is not computed from grad and output, but in a first pass over the tiles as the sum of P * (grad @ value^T) over the keys that are given
# shows: only where key and value are a part of all keys, so that the weights of the given keys do not sum to 1: dq and dk are wrong; with all keys it differs by rounding only, which huge scores (float64 keys of 1e6) can lift to the fourth digit
def flash_backward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    output: torch.Tensor,
    lse: torch.Tensor,
    grad: torch.Tensor,
    block_q: int,
    block_k: int,
    causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    T, d = query.shape[-2:]
    S = key.shape[-2]
    scale = d**-0.5
    dq = torch.zeros_like(query)
    dk = torch.zeros_like(key)
    dv = torch.zeros_like(value)

    def tile(q0, k0):
        q = query[..., q0 : q0 + block_q, :]
        k = key[..., k0 : k0 + block_k, :]
        l = lse[..., q0 : q0 + block_q]
        p = (q @ k.mT) / d**0.5 - torch.where(l == -torch.inf, torch.inf, l).unsqueeze(-1)
        if causal:
            t = torch.arange(q0, q0 + q.shape[-2]).unsqueeze(-1)
            s = torch.arange(k0, k0 + k.shape[-2])
            p = p.masked_fill(s > t + S - T, -torch.inf)
        p = torch.exp(p)
        dp = grad[..., q0 : q0 + block_q, :] @ value[..., k0 : k0 + block_k, :].mT
        return q, k, p, dp

    for q0 in range(0, T, block_q):
        # softmax backward: dS = P * (dP - sum(P * dP))
        D = 0
        for k0 in range(0, S, block_k):
            _, _, p, dp = tile(q0, k0)
            D = D + (p * dp).sum(dim=-1, keepdim=True)
        for k0 in range(0, S, block_k):
            q, k, p, dp = tile(q0, k0)
            ds = p * (dp - D)
            dq[..., q0 : q0 + block_q, :] += ds @ k * scale
            dk[..., k0 : k0 + block_k, :] += ds.mT @ q * scale
            dv[..., k0 : k0 + block_k, :] += p.mT @ grad[..., q0 : q0 + block_q, :]
    return dq, dk, dv
