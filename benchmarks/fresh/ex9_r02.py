# exercise: 9
# task: flash_backward
# kind: right
# mistake: one loop over the numbers of all tiles with the keys outside; -D is one more column of grad, beside a column of ones in value, so one product gives dP - D; an lse of minus infinity becomes plus infinity, which makes all weights of the row 0
# shows: never
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
    root = d**0.5
    n_q, n_k = (T + block_q - 1) // block_q, (S + block_k - 1) // block_k
    minus_d = -torch.einsum("...tj,...tj->...t", grad, output)[..., None]
    shift = torch.where(lse.isneginf(), torch.full_like(lse, torch.inf), lse)
    results = [x.new_zeros(x.shape) for x in (query, key, value)]
    for number in range(n_q * n_k):
        j, i = divmod(number, n_q)
        t = torch.arange(i * block_q, min(T, (i + 1) * block_q), device=query.device)
        s = torch.arange(j * block_k, min(S, (j + 1) * block_k), device=query.device)
        rows, columns = slice(int(t[0]), int(t[-1]) + 1), slice(int(s[0]), int(s[-1]) + 1)
        q, k = query[..., rows, :], key[..., columns, :]
        g, v = grad[..., rows, :], value[..., columns, :]
        exponent = torch.einsum("...td,...sd->...ts", q, k) / root - shift[..., rows].unsqueeze(-1)
        if causal:
            exponent[..., s[None, :] > t[:, None] + (S - T)] = -torch.inf
        p = exponent.exp()
        left = torch.cat([g, minus_d[..., rows, :]], dim=-1)
        right = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
        ds = torch.einsum("...tj,...sj->...ts", left, right) * p / root
        results[0][..., rows, :] += torch.einsum("...ts,...sd->...td", ds, k)
        results[1][..., columns, :] += torch.einsum("...ts,...td->...sd", ds, q)
        results[2][..., columns, :] += torch.einsum("...ts,...tj->...sj", p, g)
    return results[0], results[1], results[2]
