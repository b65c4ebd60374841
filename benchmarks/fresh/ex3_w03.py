# exercise: 3
# task: MultiHeadAttention
# kind: wrong
# mistake: a mask with three axes is taken for (B, T, S) and gets a head axis, but by broadcasting to (B, H, T, S) it is (H, T, S)
# shows: with a mask of shape (H, T, S), H > 1: an error where B differs from H, wrong values where B = H (or B = 1: output of the wrong shape or an error)
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, attention: Callable = attention, bias: bool = True
    ) -> None:
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
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
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)  # the same mask for all heads
        out, weights = self.attention(q, k, v, mask)
        return self.w_o(merge_heads(out)), weights
