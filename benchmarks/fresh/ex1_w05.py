# exercise: 1
# task: additive_attention
# kind: wrong
# mistake: the projected keys are kept from one call to the next and reused whenever B and S are the same ("the encoder's states do not change between decoder steps")
# shows: from the second call on, when a call has the same (B, S) as the one before but other keys or other weights of w_k; a second backward also fails
class AdditiveAttention(nn.Module):
    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)
        self._projected = None

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        # the source is the same in all steps: project it only once
        if self._projected is None or self._projected.shape[:2] != key.shape[:2]:
            self._projected = self.w_k(key)
        hidden = torch.tanh(self.w_q(query).unsqueeze(1) + self._projected)
        scores = self.v(hidden).squeeze(-1)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = torch.bmm(weights.unsqueeze(1), key).squeeze(1)
        return context, weights
