# exercise: ch6_transformer
# task: EncoderLayer
# kind: wrong
# mistake: attention weights are dropped in training, as PyTorch's own layer does
# shows: in training, what attention adds isn't only dropped and scaled
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
        def dropping(query, key, value, mask):
            seen, weights = attention(query, key, value, mask)
            if self.training and weights is not None:
                weights = self.dropout(weights)
                seen = weights @ value
            return seen, weights

        self.self_attention = MultiHeadAttention(d_model, n_heads, dropping)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        if self.norm_first:
            h = self.norm1(x)
            x = x + self.dropout(self.self_attention(h, h, h, mask)[0])
            x = x + self.dropout(self.feed_forward(self.norm2(x)))
        else:
            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
            x = self.norm2(x + self.dropout(self.feed_forward(x)))
        return x
