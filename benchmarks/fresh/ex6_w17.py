# exercise: 6
# task: Transformer
# kind: wrong
# mistake: positions count real tokens only, as in fairseq: padding does not advance the count
# shows: only where padding stands before or between real tokens
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
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        nn.init.normal_(self.source_embedding.weight, std=d_model**-0.5)
        nn.init.normal_(self.target_embedding.weight, std=d_model**-0.5)
        self.positions = PositionalEncoding(d_model)
        self.drop = nn.Dropout(dropout)
        sizes = (d_model, n_heads, d_ff, dropout, norm_first, attention)
        self.encoder = nn.ModuleList([EncoderLayer(*sizes) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([DecoderLayer(*sizes) for _ in range(n_layers)])
        self.encoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.project = nn.Linear(d_model, target_vocab)

    def embed(self, tokens: torch.Tensor, embedding: nn.Embedding) -> torch.Tensor:
        # positions of the real tokens are 0, 1, 2, ...; padding doesn't count
        real = tokens != self.pad
        index = (real.long().cumsum(dim=1) - 1).clamp(min=0)
        vectors = embedding(tokens) * self.d_model**0.5
        return self.drop(vectors + self.positions.encoding[index].to(vectors.dtype))

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        mask = from_key_padding(source == self.pad)
        x = self.embed(source, self.source_embedding)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(
        self, target_in: torch.Tensor, memory: torch.Tensor, source: torch.Tensor
    ) -> torch.Tensor:
        memory_mask = from_key_padding(source == self.pad)
        target_mask = combine(from_key_padding(target_in == self.pad), causal_mask(target_in.shape[1]))
        y = self.embed(target_in, self.target_embedding)
        for layer in self.decoder:
            y = layer(y, memory, target_mask, memory_mask)
        return self.project(self.decoder_norm(y))

    def forward(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        return self.decode(target_in, self.encode(source), source)
