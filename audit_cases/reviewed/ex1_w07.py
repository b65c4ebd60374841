# exercise: ch1_additive_attention
# task: attention_decoder_step
# kind: wrong
# mistake: with mask=None every key that is the zero vector is taken for padding (as pad_packed_sequence leaves it), although None means that all may be attended to
# shows: only with mask=None and at least one key whose entries are all 0
class AttentionDecoderStep(nn.Module):
    def __init__(self, d_embed: int, d_state: int, d_key: int, d_hidden: int):
        super().__init__()
        self.attention = AdditiveAttention(d_state, d_key, d_hidden)
        self.cell = nn.GRUCell(d_embed + d_key, d_state)

    def forward(
        self,
        embedded: torch.Tensor,
        state: torch.Tensor,
        key: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if mask is None:
            mask = key.ne(0).any(dim=-1)  # pad_packed_sequence fills up with zeros
            mask = mask | ~mask.any(dim=-1, keepdim=True)  # never an empty row
        context, weights = self.attention(state, key, mask)
        new_state = self.cell(torch.cat([embedded, context], dim=-1), state)
        return new_state, context, weights
