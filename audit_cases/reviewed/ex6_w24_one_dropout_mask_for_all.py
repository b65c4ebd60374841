# exercise: ch6_transformer
# task: FeedForward
# kind: wrong
# mistake: one dropout mask for all examples and positions
# shows: in training, equal examples and positions come out alike
class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear2(torch.relu(self.linear1(x)) * self.dropout(x.new_ones(self.linear1.out_features)))
