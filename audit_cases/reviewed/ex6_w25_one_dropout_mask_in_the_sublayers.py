# exercise: ch6_transformer
# task: EncoderLayer
# kind: wrong
# mistake: one dropout mask for all examples and positions in the sublayers
# shows: in training, equal examples and positions come out alike
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
        drop = lambda z: z * self.dropout(z.new_ones(z.shape[-1]))
        if self.norm_first:
            h = self.norm1(x)
            x = x + drop(self.self_attention(h, h, h, mask)[0])
            x = x + drop(self.feed_forward(self.norm2(x)))
        else:
            x = self.norm1(x + drop(self.self_attention(x, x, x, mask)[0]))
            x = self.norm2(x + drop(self.feed_forward(x)))
        return x
