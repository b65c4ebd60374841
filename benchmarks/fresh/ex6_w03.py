# exercise: 6
# task: FeedForward
# kind: wrong
# mistake: the input is taken apart as (B, T, D), so that other numbers of leading axes fail
# shows: for inputs of the shape (D,), (T, D) or (B, H, T, D), which (..., D) allows: a ValueError
class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        flat = x.reshape(batch * length, width)  # one position a row
        flat = self.linear2(self.drop(nn.functional.relu(self.linear1(flat))))
        return flat.reshape(batch, length, width)
