# exercise: 6
# task: Transformer
# kind: right
# mistake: none; embedding as a product with a one-hot matrix, positions from complex exponentials computed anew in each call, masks by comparing indices, no norm attribute without norm_first, layers folded with reduce
# shows: never
from functools import reduce


class Transformer(nn.Module):
    def __init__(
        self, source_vocab, target_vocab, d_model, n_heads, n_layers, d_ff,
        dropout=0.0, pad=0, norm_first=True, attention=attention,
    ):
        super().__init__()
        self.pad, self.p, self.norm_first = pad, dropout, norm_first
        for side, vocab, layer in (("source", source_vocab, EncoderLayer), ("target", target_vocab, DecoderLayer)):
            embedding = nn.Embedding(vocab, d_model)
            with torch.no_grad():
                embedding.weight.mul_(d_model**-0.5)  # PyTorch starts with N(0, 1)
            setattr(self, f"{side}_embedding", embedding)
            coder = "encoder" if side == "source" else "decoder"
            stack = nn.ModuleList()
            while len(stack) < n_layers:
                stack.append(layer(d_model, n_heads, d_ff, dropout=dropout, norm_first=norm_first, attention=attention))
            setattr(self, coder, stack)
            if norm_first:
                setattr(self, f"{coder}_norm", nn.LayerNorm(d_model))
        self.project = nn.Linear(d_model, target_vocab)

    def _vectors(self, tokens, table):
        V, D = table.shape
        one_hot = (tokens.unsqueeze(-1) == torch.arange(V, device=tokens.device)).to(table.dtype)
        place = torch.arange(tokens.shape[1], dtype=torch.float64, device=tokens.device)
        angle = torch.outer(place, torch.exp(torch.arange(D // 2, dtype=torch.float64, device=tokens.device) * (-2 * 9.210340371976184 / D)))
        turn = torch.polar(torch.ones_like(angle), angle)  # (T, D / 2), cos + i sin
        wave = torch.view_as_real(turn).flip(-1).reshape(len(place), D)  # sin, cos, sin, cos, ...
        x = torch.addcmul(wave.to(table.dtype), one_hot @ table, torch.tensor(float(D), dtype=table.dtype).sqrt())
        return nn.functional.dropout(x, self.p, self.training)

    def encode(self, source):
        may = source.ne(self.pad).view(len(source), 1, 1, -1)
        x = reduce(lambda h, layer: layer(h, may), self.encoder, self._vectors(source, self.source_embedding.weight))
        return self.encoder_norm(x) if self.norm_first else x

    def decode(self, target_in, memory, source):
        at = torch.arange(target_in.shape[1], device=target_in.device)
        key_at = torch.where(target_in == self.pad, len(at), at)  # padding stands in an endless future
        may = (key_at[:, None, :] <= at[None, :, None])[:, None]  # (B, 1, T, T)
        see = (source != self.pad)[:, None, None]
        y = self._vectors(target_in, self.target_embedding.weight)
        y = reduce(lambda h, layer: layer(h, memory, may, see), self.decoder, y)
        if self.norm_first:
            y = self.decoder_norm(y)
        return self.project(y)

    def forward(self, source, target_in):
        return self.decode(target_in, memory=self.encode(source), source=source)
