"""The recurrent encoder-decoder of chapter 1, with attention or with
one vector, and its training.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from solutions.ch1_additive_attention import AttentionDecoderStep

PAD, START, END = 0, 1, 2  # the first three entries of every vocabulary


class EncoderDecoder(nn.Module):
    """A recurrent encoder-decoder with additive attention.

    n_source and n_target are the sizes of the vocabularies.
    """

    def __init__(
        self,
        n_source: int,
        n_target: int,
        d_state: int = 32,
        d_embed: int = 16,
    ) -> None:
        super().__init__()
        self.embed_source = nn.Embedding(n_source, d_embed)
        self.embed_target = nn.Embedding(n_target, d_embed)
        self.encoder = nn.GRU(
            d_embed, d_state // 2, batch_first=True, bidirectional=True
        )
        self.first_state = nn.Linear(d_state // 2, d_state)
        self.step = AttentionDecoderStep(
            d_embed, d_state, d_state, d_state
        )
        self.readout = nn.Linear(2 * d_state, n_target)

    def encode(
        self, source: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """source (B, S) -> memory (B, S, d_state), mask (B, S), first
        state of the decoder (B, d_state).
        """
        mask = source != PAD
        # packed: the backward direction starts at the last word, not at
        # the padding
        packed = pack_padded_sequence(
            self.embed_source(source),
            mask.sum(1),
            batch_first=True,
            enforce_sorted=False,
        )
        states, (_, backward) = self.encoder(packed)
        memory, _ = pad_packed_sequence(
            states, batch_first=True, total_length=source.shape[1]
        )
        return memory, mask, torch.tanh(self.first_state(backward))

    def forward(
        self, source: torch.Tensor, target_in: torch.Tensor
    ) -> torch.Tensor:
        """Scores (B, T, n_target) of every next word, given the true
        words before it, target_in (B, T).
        """
        memory, mask, state = self.encode(source)
        outputs = []
        for embedded in self.embed_target(target_in).unbind(dim=1):
            state, context, _ = self.step(embedded, state, memory, mask)
            outputs.append(torch.cat([state, context], dim=-1))
        return self.readout(torch.stack(outputs, dim=1))

    @torch.no_grad()
    def generate(
        self, source: torch.Tensor, n_steps: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Always take the best next word: words (B, n_steps), weights
        (B, n_steps, S).
        """
        memory, mask, state = self.encode(source)
        word = torch.full((len(source),), START)
        words, all_weights = [], []
        for _ in range(n_steps):
            state, context, weights = self.step(
                self.embed_target(word), state, memory, mask
            )
            scores = self.readout(torch.cat([state, context], dim=-1))
            word = scores.argmax(dim=-1)
            words.append(word)
            all_weights.append(weights)
        return torch.stack(words, dim=1), torch.stack(
            all_weights, dim=1
        )


class OneVector(EncoderDecoder):
    """The same layers, but the memory is one vector: the encoder's last
    states in both directions.
    """

    def encode(
        self, source: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """source (B, S) -> memory (B, 1, d_state), mask (B, 1), first
        state of the decoder (B, d_state).
        """
        states, mask, first = super().encode(source)
        half = states.shape[-1] // 2
        last = mask.sum(1) - 1  # where each source ends
        forward = states[torch.arange(len(source)), last, :half]
        backward = states[:, 0, half:]
        memory = torch.cat([forward, backward], dim=-1)[:, None]
        return memory, mask[:, :1], first

    def forward(
        self, source: torch.Tensor, target_in: torch.Tensor
    ) -> torch.Tensor:
        """The same scores without a loop over the steps: the context is
        the one vector at every step, so all inputs of the cell are
        known in advance.
        """
        memory, _, state = self.encode(source)
        context = memory.expand(-1, target_in.shape[1], -1)
        inputs = torch.cat(
            [self.embed_target(target_in), context], dim=-1
        )
        # a GRU is its cell, step after step
        cell = list(self.step.cell.parameters())
        states, _ = torch.gru(
            inputs, state[None], cell, True, 1, 0.0, True, False, True
        )
        return self.readout(torch.cat([states, context], dim=-1))


def shift_right(target: torch.Tensor) -> torch.Tensor:
    """What the decoder has read before each word of target (B, T):
    START and the words before.
    """
    return F.pad(target, (1, 0), value=START)[:, :-1]


def train(
    model: EncoderDecoder,
    sample: Callable[[], tuple[torch.Tensor, torch.Tensor]],
    n_steps: int,
    learning_rate: float,
) -> EncoderDecoder:
    """Train on batches (source, target) from `sample()`, with a
    learning rate that falls to zero; returns the model.
    """
    optimiser = torch.optim.Adam(
        model.parameters(), lr=learning_rate, fused=True
    )
    schedule = torch.optim.lr_scheduler.LinearLR(
        optimiser, 1.0, 0.0, n_steps
    )
    for _ in range(n_steps):
        source, target = sample()
        scores = model(source, shift_right(target))
        loss = F.cross_entropy(
            scores.flatten(0, 1), target.flatten(), ignore_index=PAD
        )
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model
