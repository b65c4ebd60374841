# exercise: 3
# task: MultiHeadAttention
# kind: right
# mistake: none; unusual: no split and merge: the weights of the linear layers are unflattened into one matrix a head, and projections and output are einsums
# shows: never
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, attention: Callable = attention, bias: bool = True
    ) -> None:
        super().__init__()
        width, rest = divmod(d_model, n_heads)
        if rest:
            raise ValueError(f"{n_heads} heads cannot share a width of {d_model}")
        self.n_heads, self.width, self.attention = n_heads, width, attention
        for name in "qkvo":
            setattr(self, "w_" + name, nn.Linear(d_model, d_model, bias=bias))

    def _project(self, layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        matrices = layer.weight.unflatten(0, (self.n_heads, self.width))  # (H, d, D)
        y = torch.einsum("bti,hdi->bhtd", x, matrices)
        if layer.bias is not None:
            y = y + layer.bias.unflatten(0, (self.n_heads, 1, self.width))
        return y

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        heads, weights = self.attention(
            self._project(self.w_q, query),
            self._project(self.w_k, key),
            self._project(self.w_v, value),
            mask,
        )
        matrices = self.w_o.weight.unflatten(1, (self.n_heads, self.width))  # (D, H, d)
        output = torch.einsum("bhtd,ohd->bto", heads, matrices)
        if self.w_o.bias is not None:
            output = output + self.w_o.bias
        return output, weights
