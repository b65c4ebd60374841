# exercise: 6
# task: DecoderLayer
# kind: wrong
# mistake: the argument attention is given to the self-attention only; the cross-attention uses the default
# shows: only with another attention function than the default
class DecoderLayer(nn.Module):
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
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        y: torch.Tensor,
        memory: torch.Tensor,
        target_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if self.norm_first:
            h = self.norm1(y)
            y = y + self.dropout(self.self_attention(h, h, h, target_mask)[0])
            h = self.norm2(y)
            y = y + self.dropout(self.cross_attention(h, memory, memory, memory_mask)[0])
            y = y + self.dropout(self.feed_forward(self.norm3(y)))
        else:
            y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))
            y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))
            y = self.norm3(y + self.dropout(self.feed_forward(y)))
        return y
