# exercise: 6
# task: EncoderLayer
# kind: wrong
# mistake: without norm_first the sum of the residual and the sublayer's result is divided by the root of 2 before it is normalised
# shows: with norm_first=False only, and little: the norm takes the factor out again, and what is left of it is the norm's eps
# review: not named, and misled: "right to 6 digits only: is something computed in float32, or a small number added?" (4.7; only eps shows)
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
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        if self.norm_first:
            normed = self.norm1(x)
            x = x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        # two summands of about the same size: keep the variance
        attended = self.dropout(self.self_attention(x, x, x, mask)[0])
        x = self.norm1((x + attended) / 2**0.5)
        return self.norm2((x + self.dropout(self.feed_forward(x))) / 2**0.5)
