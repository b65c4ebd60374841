# exercise: 6
# task: EncoderLayer
# kind: wrong
# mistake: in the pre-norm order dropout acts on the sum, so that entries of the residual stream itself are dropped, not only of the sublayer's result
# shows: with norm_first=True, in training mode with dropout > 0: outputs that are exactly 0
class EncoderLayer(nn.Module):
    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
        attention: Callable = attention,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        if self.norm_first:
            h = self.norm1(x)
            x = self.dropout(x + self.self_attention(h, h, h, mask)[0])
            x = self.dropout(x + self.feed_forward(self.norm2(x)))
        else:
            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
            x = self.norm2(x + self.dropout(self.feed_forward(x)))
        return x
