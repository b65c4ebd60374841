# exercise: 6
# task: Transformer
# kind: wrong
# mistake: the causal mask is made in torch's convention, True above the diagonal for what is hidden, and used in a course where True means may attend
# shows: in decode: a target attends to the later targets only, not to itself and the earlier ones, and the last one to no target at all
# review: not named, numbers only: 17 points lost in 14 lines that all read "168 of 168 entries differ"; not even the line on later targets says that the logits moved (4.3, worst text 4)
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
        self.pad = pad
        self.scale = d_model**0.5
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=d_model**-0.5)
        self.positions = PositionalEncoding(d_model, dropout)
        sizes = d_model, n_heads, d_ff, dropout, norm_first, attention
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))
        self.encoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.project = nn.Linear(d_model, target_vocab)

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        mask = from_key_padding(source == self.pad)
        x = self.positions(self.source_embedding(source) * self.scale)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(
        self, target_in: torch.Tensor, memory: torch.Tensor, source: torch.Tensor
    ) -> torch.Tensor:
        T = target_in.shape[1]
        future = torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1)
        target_mask = combine(from_key_padding(target_in == self.pad), future)
        memory_mask = from_key_padding(source == self.pad)
        y = self.positions(self.target_embedding(target_in) * self.scale)
        for layer in self.decoder:
            y = layer(y, memory, target_mask, memory_mask)
        return self.project(self.decoder_norm(y))

    def forward(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        return self.decode(target_in, self.encode(source), source)
