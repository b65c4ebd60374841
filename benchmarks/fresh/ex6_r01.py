# exercise: 6
# task: DecoderLayer
# kind: right
# mistake: none; one loop over the three sublayers, whose four steps (norm, sublayer, drop, add) come from a table in the order that norm_first asks for; the residual is a sum over a stack
# shows: never
class DecoderLayer(nn.Module):
    """Three sublayers in a loop; the order of norm and sum is chosen by composing functions."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention):
        super().__init__()
        for name in ("self_attention", "cross_attention"):
            self.add_module(name, MultiHeadAttention(d_model, n_heads, attention, bias=True))
        self.add_module("feed_forward", FeedForward(d_model, d_ff, dropout))
        for i in (1, 2, 3):
            self.add_module(f"norm{i}", nn.LayerNorm(d_model))
        self.p = dropout
        self.order = ("norm", "sublayer", "drop", "add") if norm_first else ("sublayer", "drop", "add", "norm")

    def forward(self, y, memory, target_mask=None, memory_mask=None):
        sublayers = (
            lambda z: self.self_attention(z, z, z, target_mask)[0],
            lambda z: self.cross_attention(z, memory, memory, memory_mask)[0],
            self.feed_forward,
        )
        for number, sublayer in enumerate(sublayers, start=1):
            stream = y
            steps = {
                "norm": getattr(self, f"norm{number}"),
                "sublayer": sublayer,
                "drop": lambda z: nn.functional.dropout(z, self.p, training=self.training),
                "add": lambda z, stream=stream: torch.stack((stream, z)).sum(dim=0),
            }
            for step in self.order:
                y = steps[step](y)
        return y
