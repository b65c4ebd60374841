# exercise: 1
# task: additive_attention
# kind: right
# mistake: none; unusual: query and key are joined and projected by one block matrix [W_q W_k], the scores are a matrix-vector product, and the softmax is taken example by example over the allowed positions and scattered back
# shows: never
class AdditiveAttention(nn.Module):
    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        layers = {"w_q": (d_query, d_hidden), "w_k": (d_key, d_hidden), "v": (d_hidden, 1)}
        for name, (n_in, n_out) in layers.items():
            self.add_module(name, nn.Linear(n_in, n_out, bias=False))

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        both = torch.cat([self.w_q.weight, self.w_k.weight], dim=1)  # (A, Dq + Dk)
        contexts, rows = [], []
        for b in range(key.shape[0]):
            pairs = torch.cat([query[b].expand(key.shape[1], -1), key[b]], dim=1)
            e = (both @ pairs.t()).tanh().t().mv(self.v.weight[0])  # (S,)
            if mask is None:
                row = torch.exp(torch.log_softmax(e, dim=0))
            else:
                at = mask[b].nonzero()[:, 0]
                some = torch.exp(torch.log_softmax(e.index_select(0, at), dim=0))
                row = torch.zeros_like(e).index_add(0, at, some)
            rows.append(row)
            contexts.append(key[b].t().mv(row))
        return torch.stack(contexts), torch.stack(rows)
