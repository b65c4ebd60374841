"""A training step of this course's Transformer and of torch.nn.Transformer, for what measures both.

Both sides have the same sizes, dropouts, batches, loss, optimizer, number format and threads, both are
compiled or both are not, and they take turns.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from solutions.ch5_positional_encoding import PositionalEncoding
from solutions.ch6_transformer import DecoderLayer, EncoderLayer, shift
from translation import machine
from translation.loss import linear_cross_entropy
from translation.settings import ModelSettings
from translation.tokenizer import PAD

# Operations per second in dense bfloat16, from the makers' data sheets, by a part of the name that CUDA
# gives a card; the first that fits, since cards for a PCIe slot are slower than those of the same name.
PEAK = {
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H200 NVL": 835e12,
    "H100": 989e12,
    "H200": 989e12,
    "A100": 312e12,
}
VOCAB = 10_000


def peak_of(card: str) -> float | None:
    """Operations per second that a card can do at most; None for one that isn't in the table."""
    return next((value for part, value in PEAK.items() if part in card), None)


class Theirs(nn.Module):
    """torch.nn.Transformer between the same embeddings, positions and last layer as ours."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        width = settings.d_model
        self.embedding = nn.Embedding(VOCAB, width)
        self.positions = PositionalEncoding(width, settings.dropout)
        self.transformer = nn.Transformer(
            width,
            settings.heads,
            settings.layers,
            settings.layers,
            settings.d_ff,
            settings.dropout,
            batch_first=True,
            norm_first=settings.norm_first,
        )
        if not settings.norm_first:  # it would normalise twice at the end
            self.transformer.encoder.norm = self.transformer.decoder.norm = None
        for layer in [*self.transformer.encoder.layers, *self.transformer.decoder.layers]:
            layer.dropout.p = 0.0
            layer.self_attn.dropout = 0.0
        for layer in self.transformer.decoder.layers:
            layer.multihead_attn.dropout = 0.0
        self.project = nn.Linear(width, VOCAB)
        self.project.weight = self.embedding.weight
        self.scale = width**0.5

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """What is projected to logits, (B, T, D), of source (B, S) and target_in (B, T)."""
        length, device = target_in.shape[1], target_in.device
        future = torch.ones(length, length, dtype=torch.bool, device=device).triu(1)
        return self.transformer(
            self.positions(self.embedding(source) * self.scale),
            self.positions(self.embedding(target_in) * self.scale),
            tgt_mask=future,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target_in == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )


def make_batches(count: int, tokens: int, length: int, device: torch.device) -> list:
    """Random batches: sentences of `length`, a tenth of them shorter at the end."""
    made = []
    for seed in range(count):
        draw = torch.Generator().manual_seed(seed)
        rows = max(1, tokens // length)
        pair = [torch.randint(4, VOCAB, (rows, length + extra), generator=draw) for extra in (0, 1)]
        for ids in pair:
            ids[: (rows + 9) // 10, length - length // 4 :] = PAD
        made.append([ids.to(device) for ids in pair])
    return made


def compile_layers(model: nn.Module) -> None:
    """Let PyTorch compile each layer of encoder and decoder; equal layers share what is compiled. A whole
    model takes minutes."""
    kinds = EncoderLayer, DecoderLayer, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
    for layer in model.modules():
        if isinstance(layer, kinds):
            layer.compile(dynamic=True)


def stepper(model: nn.Module, here: machine.Machine) -> Callable:
    """A function that does one training step on a batch."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=here.device.type != "mps")
    if here.compile:
        compile_layers(model)

    def step(source: torch.Tensor, target: torch.Tensor) -> None:
        target_in, target_out = shift(target)
        with here.autocast():
            found = model.hidden(source, target_in)
        last = model.project.weight, model.project.bias
        arguments = found.float().flatten(0, 1), *last, target_out.flatten(), 0.1, PAD, here.dtype
        (linear_cross_entropy(*arguments) / target_out.numel()).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def flops_per_token(settings: ModelSettings, parameters: int, length: int) -> float:
    """Floating-point operations of a training step for one target token, source of the same length.

    Twice the multiplications of a forward pass, and twice as many again for the backward pass
    (Kaplan et al. 2020, section 2.1): 6 a parameter, where the embedding counts once, as the last layer;
    and 12 T D for each attention, of which a layer of encoder and decoder together has three. A causal
    one is counted in full.
    """
    return 6 * parameters + 3 * settings.layers * 12 * length * settings.d_model
