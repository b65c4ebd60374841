# exercise: 5
# task: PositionalEncoding
# kind: wrong
# mistake: dropout is applied to the rows of the table before they are added, not to the sum
# shows: in training mode with dropout > 0: no entry of the result is 0, x itself is neither dropped nor scaled, and all examples share one pattern
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.0, max_len: int = 5000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("encoding", sinusoidal(max_len, d_model))

    def forward(self, x: torch.Tensor, offset: int = 0) -> torch.Tensor:
        seq_len = x.size(1)
        pe = self.encoding[offset : offset + seq_len, :].to(x.dtype)
        return x + self.dropout(pe).unsqueeze(0)
