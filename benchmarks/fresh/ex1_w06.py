# exercise: 1
# task: additive_attention
# kind: wrong
# mistake: the layer v has a bias (the default of nn.Linear); the statement asks for three layers without bias
# shows: in the parameters only (v.bias is not None, one parameter more, strict load_state_dict fails); the softmax cancels it in the outputs
class AdditiveAttention(nn.Module):
    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1)

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.tanh(self.w_q(query)[:, None] + self.w_k(key))
        scores = self.v(hidden)[..., 0]
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        weights = scores.softmax(dim=1)
        return torch.einsum("bs,bsk->bk", weights, key), weights
