# exercise: ch6_transformer
# task: DecoderLayer
# kind: wrong
# mistake: stochastic depth in place of dropout: a sublayer's whole result is dropped, or kept and scaled up, for each example of the batch, not each entry by itself
# shows: in training mode with a dropout between 0 and 1; with 0, with 1 and in evaluation mode there is no difference
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
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.rate = dropout
        self.norm_first = norm_first

    def dropout(self, x: torch.Tensor) -> torch.Tensor:
        kept = nn.functional.dropout(x.new_ones(len(x), 1, 1), self.rate, self.training)
        return x * kept

    def forward(
        self,
        y: torch.Tensor,
        memory: torch.Tensor,
        target_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if self.norm_first:
            normed = self.norm1(y)
            y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])
            normed = self.norm2(y)
            y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])
            return y + self.dropout(self.feed_forward(self.norm3(y)))
        y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))
        y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))
        return self.norm3(y + self.dropout(self.feed_forward(y)))
