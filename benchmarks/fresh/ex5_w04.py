# exercise: 5
# task: PositionalEncoding
# kind: wrong
# mistake: the rows of the table are added in the table's data type, so that the result is promoted to it
# shows: for x in a smaller type than the table: float16 and bfloat16 (and float32 with a float64 table) come back as the table's type
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.0, max_len: int = 5000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("encoding", sinusoidal(max_len, d_model), persistent=False)

    def forward(self, x: torch.Tensor, offset: int = 0) -> torch.Tensor:
        rows = self.encoding[offset : offset + x.shape[1]]
        return self.dropout(x + rows)
