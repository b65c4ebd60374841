# exercise: 6
# task: FeedForward
# kind: wrong
# mistake: dropout as in the first papers on it: nothing is scaled up in training, and in evaluation mode the hidden entries are multiplied by 1 - p instead
# shows: with dropout > 0, in training mode (what remains is not scaled) and in evaluation mode (the values are too small)
class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for every position."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.keep = 1.0 - dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.linear1(x).clamp(min=0)
        if self.training:
            # keep each unit with probability 1 - p (Srivastava et al., 2014, section 4)
            hidden = hidden * (torch.rand_like(hidden) < self.keep)
        else:
            hidden = hidden * self.keep  # the weights are scaled down at test time
        return self.linear2(hidden)
