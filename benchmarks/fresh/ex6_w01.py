# exercise: 6
# task: FeedForward
# kind: wrong
# mistake: dropout acts on the result of the second linear layer, not on what the ReLU gives
# shows: in training mode with dropout > 0: entries of the output are exactly 0, and no hidden entry is ever dropped
class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.linear2(torch.relu(self.linear1(x))))
