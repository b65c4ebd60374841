# exercise: 6
# task: Transformer
# kind: wrong
# mistake: encode keeps the source mask as an attribute and decode uses it, whatever source it gets
# shows: only where decode is called with a source other than that of the latest encode (two encodes, then two decodes; or decode with a memory from elsewhere)
class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        dropout: float = 0.0,
        pad: int = 0,
        norm_first: bool = True,
        attention: Callable = attention,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.pad = pad
        self.source_mask = None
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        nn.init.normal_(self.source_embedding.weight, std=d_model**-0.5)
        nn.init.normal_(self.target_embedding.weight, std=d_model**-0.5)
        self.positions = PositionalEncoding(d_model, dropout)
        sizes = (d_model, n_heads, d_ff, dropout, norm_first, attention)
        self.encoder = nn.ModuleList([EncoderLayer(*sizes) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([DecoderLayer(*sizes) for _ in range(n_layers)])
        self.encoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.project = nn.Linear(d_model, target_vocab)

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        self.source_mask = from_key_padding(source == self.pad)  # decode needs it again
        x = self.positions(self.source_embedding(source) * self.d_model**0.5)
        for layer in self.encoder:
            x = layer(x, self.source_mask)
        return self.encoder_norm(x)

    def decode(
        self, target_in: torch.Tensor, memory: torch.Tensor, source: torch.Tensor
    ) -> torch.Tensor:
        if self.source_mask is None:
            self.source_mask = from_key_padding(source == self.pad)
        target_mask = combine(from_key_padding(target_in == self.pad), causal_mask(target_in.shape[1]))
        y = self.positions(self.target_embedding(target_in) * self.d_model**0.5)
        for layer in self.decoder:
            y = layer(y, memory, target_mask, self.source_mask)
        return self.project(self.decoder_norm(y))

    def forward(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        return self.decode(target_in, self.encode(source), source)
