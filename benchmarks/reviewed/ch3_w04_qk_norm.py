# exercise: 3
# task: MultiHeadAttention
# kind: wrong
# mistake: QK-norm: the queries and keys of each head are divided by their root mean square before they meet, as some newer models do it
# shows: everywhere, in the weights and so in the output; only with a single key or weights that are uniform anyway is there no difference
# review: not named, numbers only
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, attention: Callable = attention, bias: bool = True
    ) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        self.n_heads = n_heads
        self.attention = attention
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        q = split_heads(self.w_q(query), self.n_heads)
        k = split_heads(self.w_k(key), self.n_heads)
        v = split_heads(self.w_v(value), self.n_heads)
        q = q * torch.rsqrt(q.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
        k = k * torch.rsqrt(k.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
        output, weights = self.attention(q, k, v, mask)
        return self.w_o(merge_heads(output)), weights
