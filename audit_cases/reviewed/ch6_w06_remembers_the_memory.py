# exercise: ch6_transformer
# task: DecoderLayer
# kind: wrong
# mistake: the layer keeps the memory of the last call for its cross-attention, and uses it again where the new one has the same shape
# shows: only where one layer is called twice in a row with memories of the same shape that differ: the second call attends to the first memory
# named: an earlier memory used again
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
        self.dropout = nn.Dropout(dropout)
        self.kept_memory = None
        self.norm_first = norm_first

    def forward(
        self,
        y: torch.Tensor,
        memory: torch.Tensor,
        target_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        # decode is called for every new token: don't take the same memory in again
        if self.kept_memory is None or self.kept_memory.shape != memory.shape:
            self.kept_memory = memory
        memory = self.kept_memory
        if self.norm_first:
            normed = self.norm1(y)
            y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])
            normed = self.norm2(y)
            y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])
            return y + self.dropout(self.feed_forward(self.norm3(y)))
        y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))
        y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))
        return self.norm3(y + self.dropout(self.feed_forward(y)))
