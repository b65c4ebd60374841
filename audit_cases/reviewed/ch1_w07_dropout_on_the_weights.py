# exercise: ch1_additive_attention
# task: additive_attention
# kind: wrong
# mistake: dropout of 0.1 acts on the weights in training mode, of which the task says nothing
# shows: in training mode, which a module is in after it has been made: about a tenth of the weights is 0 and the others are scaled up, so that they no longer sum to 1; in evaluation mode all is right
# named: dropout that nobody asked for
class AdditiveAttention(nn.Module):
    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key))
        scores = self.v(hidden).squeeze(-1)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        weights = nn.functional.dropout(weights, 0.1, self.training)
        context = torch.einsum("bs,bsd->bd", weights, key)
        return context, weights
