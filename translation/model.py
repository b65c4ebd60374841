"""The Transformer of chapter 6, built from a run's settings, and with the same numbers in less time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from solutions.ch2_scaled_dot_product import attention as formula
from solutions.ch3_multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.ch4_masking import causal_mask, from_key_padding
from solutions.ch5_positional_encoding import rope
from solutions.ch6_transformer import DecoderLayer, EncoderLayer, FeedForward, Transformer
from translation import TranslationError
from translation.settings import ModelSettings, refuse_too_large
from translation.tokenizer import PAD

GPU = (
    "cuda",
    "meta",
)  # the device without numbers stands for one, to try a step where there is none


def padding_as_feature(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries and keys whose products are as good as minus infinity where a key is padding.

    Flash attention takes no mask. With eight more features, 1 in each query and -30,000 in each key that
    is padding, it needs none.

    Args:
        query: (B, H, T, d), key: (B, H, S, d), value: (B, H, S, d).
        mask: (B, 1, 1, S), boolean, False where a key is padding.

    Returns:
        The three with d + 8 features; those of the value are zero.
    """
    query, key, value = (F.pad(x, (0, 8)) for x in (query, key, value))
    width = query.shape[-1] - 8
    query[..., width] = 1
    key[..., width] = torch.where(mask[:, :, 0], 0, -30_000).to(key.dtype)
    return query, key, value


class FusedAttention(nn.Module):
    """The attention of chapter 2 in one kernel of PyTorch, which never writes the weights down.

    Args:
        causal: whether it is a decoder's self-attention; then it needs no mask, since padding is at the
            end of a sentence, and what is real never looks there.
        flash: express padding as a feature instead of a mask, so that flash attention can be used.
    """

    def __init__(self, causal: bool = False, flash: bool = False) -> None:
        super().__init__()
        self.causal, self.flash = causal, flash

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, None]:
        """Attend.

        Args:
            query: (..., T, dk).
            key: (..., S, dk).
            value: (..., S, dv).
            mask: broadcastable to (..., T, S), boolean, True = may attend. None = no mask.

        Returns:
            output (..., T, dv), zero where a query has nothing to attend to, and None for the weights.
        """
        width, scale = value.shape[-1], query.shape[-1] ** -0.5
        if self.flash and mask is not None:
            query, key, value = padding_as_feature(query, key, value, mask)
            mask = None
        causal = self.causal
        if query.shape[-2] == 1:  # the newest position, for which nothing is in the future
            causal = False
        half = query.dtype in (torch.bfloat16, torch.float16)
        precise = half and query.device.type == "cpu"
        if precise:  # its backward pass takes 15 times as long there as that of float32
            query, key, value = query.float(), key.float(), value.float()
        with torch.autocast(query.device.type, enabled=False) if precise else nullcontext():
            output = F.scaled_dot_product_attention(
                query,
                key,
                value,
                attn_mask=mask,
                is_causal=causal,
                scale=scale,
            )
        return output[..., :width], None


class Rotation(nn.Module):
    """RoPE of chapter 5, with the angles of all positions computed once.

    Args:
        width: of the queries and keys, even.
        n_positions: how many positions there are.
    """

    cos: torch.Tensor
    sin: torch.Tensor

    def __init__(self, width: int, n_positions: int) -> None:
        super().__init__()
        pairs = torch.tensor([1.0, 0.0]).repeat(n_positions, width // 2)
        turned = rope(pairs, torch.arange(n_positions))
        self.register_buffer("cos", turned[:, 0::2].clone(), persistent=False)
        self.register_buffer("sin", turned[:, 1::2].clone(), persistent=False)

    def forward(self, x: torch.Tensor, places: slice | torch.Tensor) -> torch.Tensor:
        """Turn x (..., T, d), whose positions are these T."""
        cos, sin = self.cos[places], self.sin[places]
        first, second = x[..., 0::2], x[..., 1::2]
        turned = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
        return turned.flatten(-2).to(x.dtype)


class PackedAttention(MultiHeadAttention):
    """Multi-head attention whose projections of the same vectors are one matrix product.

    It has the parameters of chapter 3's layer, and the same numbers come out.

    Args:
        d_model, n_heads, attention: as in chapter 3.
        key_heads: heads of keys and values, which divide n_heads.
        rotation: what turns queries and keys by their positions; None = nothing.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        attention: Callable,
        key_heads: int,
        rotation: Rotation | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, attention)
        self.width = d_model // n_heads
        if key_heads != n_heads:
            self.w_k, self.w_v = (nn.Linear(d_model, key_heads * self.width) for _ in range(2))
        self.rotation = rotation

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attend, as in chapter 3; key and value are the same vectors."""
        if query is key:
            heads = self._projected(query, self.w_q, self.w_k, self.w_v)
        else:
            heads = [*self._projected(query, self.w_q), *self._projected(key, self.w_k, self.w_v)]
        if self.rotation:
            places = slice(0, query.shape[1])
            heads[:2] = [self.rotation(x, places) for x in heads[:2]]
        shared = [share(x, self.n_heads) for x in heads[1:]]
        output, weights = self.attention(heads[0], *shared, mask)
        return self.w_o(merge_heads(output)), weights

    def _projected(self, x: torch.Tensor, *layers: nn.Linear) -> list[torch.Tensor]:
        """The heads (B, H, T, d) of each layer, of x (B, T, D)."""
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        parts = F.linear(x, weight, bias).split([layer.out_features for layer in layers], dim=-1)
        return [split_heads(part, part.shape[-1] // self.width) for part in parts]


def share(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    """Keys or values (B, G, S, d) for each head of the queries, (B, H, S, d), as in chapter 3's grouped
    queries: head h has those of group h // (H / G)."""
    times = n_heads // x.shape[1]
    return x if times == 1 else x.repeat_interleave(times, dim=1)


class GatedFeedForward(nn.Module):
    """SwiGLU (Shazeer 2020): one projection, after a SiLU, is the gate of another.

    Args:
        d_model: width D of the vectors that come in and go out.
        d_ff: width F in between.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate, self.linear1 = (nn.Linear(d_model, d_ff) for _ in range(2))
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Work on every position of x (..., D)."""
        return self.linear2(F.silu(self.gate(x)) * self.linear1(x))


class ByteDropout(nn.Dropout):
    """Dropout on a CPU that draws a byte for each entry, in a tenth of the time of PyTorch's.

    The probability is rounded to a multiple of 1/256; what is kept is scaled accordingly. One that would be
    rounded to nothing or all is PyTorch's matter.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Drop entries of x, of any shape, in training mode."""
        if torch.compiler.is_compiling():  # it cannot follow, and has fast dropout of its own
            return super().forward(x)
        if not self.training or not self.p:
            return x
        level = round(256 * self.p)
        if level in (0, 256):
            return super().forward(x)
        with torch.no_grad():
            words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
            drawn = words.view(torch.uint8)[: x.numel()].view(x.shape)
            # in float32 from the beginning: products with booleans take several times as long
            kept = drawn.float().ge_(level).mul_(256 / (256 - level))
        return x * kept


class _Parts:
    """Makes the parts of a model as its settings ask for them.

    Args:
        settings: those of the run.
        fused: whether attention is PyTorch's kernel, and not the formula.
        device: the type of device that the model is to run on.
        n_positions: how many positions a sentence may have.
    """

    def __init__(self, settings: ModelSettings, fused: bool, device: str, n_positions: int) -> None:
        self.settings, self.fused, self.device = settings, fused, device
        self.sizes = settings.d_model, settings.heads, settings.d_ff
        self.rotation = None
        if settings.positions == "rope":
            self.rotation = Rotation(settings.d_model // settings.heads, n_positions)

    def encoder_layer(self) -> EncoderLayer:
        """Chapter 6's layer with these parts."""
        layer = EncoderLayer(*self.sizes, norm_first=self.settings.norm_first)
        layer.self_attention = self.attention(rotation=self.rotation)
        layer.feed_forward = self.feed_forward()
        layer.norm1, layer.norm2 = self.norm(), self.norm()
        layer.dropout = self.dropout()
        return layer

    def decoder_layer(self) -> DecoderLayer:
        """Chapter 6's layer with these parts. Its cross-attention isn't turned by positions, since those of
        two languages can't be compared."""
        layer = DecoderLayer(*self.sizes, norm_first=self.settings.norm_first)
        layer.self_attention = self.attention(causal=True, rotation=self.rotation)
        layer.cross_attention = self.attention()
        layer.feed_forward = self.feed_forward()
        layer.norm1, layer.norm2, layer.norm3 = self.norm(), self.norm(), self.norm()
        layer.dropout = self.dropout()
        return layer

    def attention(self, causal: bool = False, rotation: Rotation | None = None) -> PackedAttention:
        """Multi-head attention."""
        function = FusedAttention(causal, self.device in GPU) if self.fused else formula
        key_heads = self.settings.key_heads or self.settings.heads
        return PackedAttention(
            self.settings.d_model, self.settings.heads, function, key_heads, rotation
        )

    def feed_forward(self) -> Any:  # another kind than chapter 6's layers say that they have
        """The network of each position, which drops nothing inside."""
        kind = GatedFeedForward if self.settings.feed_forward == "swiglu" else FeedForward
        return kind(self.settings.d_model, self.settings.d_ff)

    def norm(self) -> Any:
        """Layer norm or RMSNorm."""
        kind = nn.RMSNorm if self.settings.norm == "rms" else nn.LayerNorm
        return kind(self.settings.d_model, eps=1e-5)

    def dropout(self) -> nn.Dropout:
        """Dropout of a sublayer's result."""
        return (ByteDropout if self.device == "cpu" else nn.Dropout)(self.settings.dropout)


class FastTransformer(Transformer):
    """The Transformer of chapter 6 with less work in training: the same weights give the same numbers, unless
    a setting asks for a part of another kind.

    Args:
        vocab_size: pieces of the vocabulary, which both languages share.
        settings: those of the run.
        attention: "formula" or "fused".
        device: the type of device that it is to run on, "cpu", "cuda" or "mps".
    """

    def __init__(
        self, vocab_size: int, settings: ModelSettings, attention: str, device: str
    ) -> None:
        sizes = settings.d_model, settings.heads, 0, settings.d_ff
        super().__init__(vocab_size, vocab_size, *sizes, pad=PAD, norm_first=settings.norm_first)
        self.fused = attention == "fused"
        # made anew from the model's sizes, so neither saved nor sent to other processes
        encoding = self.positions.get_buffer("encoding")
        del self.positions.encoding
        self.positions.register_buffer("encoding", encoding, persistent=False)
        if settings.positions == "rope":
            encoding.zero_()
        parts = _Parts(settings, self.fused, device, len(encoding))
        self.positions.dropout = parts.dropout()
        self.encoder = nn.ModuleList(parts.encoder_layer() for _ in range(settings.layers))
        self.decoder = nn.ModuleList(parts.decoder_layer() for _ in range(settings.layers))
        if settings.norm_first:
            self.encoder_norm, self.decoder_norm = parts.norm(), parts.norm()

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """What the last layer projects to logits.

        Args:
            source: (B, S), token numbers.
            target_in: (B, T), token numbers; padding, if any, at the end of each row.

        Returns:
            (B, T, D).
        """
        return self._decoded(target_in, self.encode(source), source)

    def decode(
        self, target_in: torch.Tensor, memory: torch.Tensor, source: torch.Tensor
    ) -> torch.Tensor:
        """Logits (B, T, V), as in chapter 6, at all positions that are not padding."""
        return self.project(self._decoded(target_in, memory, source))

    def _decoded(
        self, target_in: torch.Tensor, memory: torch.Tensor, source: torch.Tensor
    ) -> torch.Tensor:
        mask = from_key_padding(source == self.pad)
        # the fused attention of a decoder knows by itself that it is causal
        with target_in.device:
            future = None if self.fused else causal_mask(target_in.shape[1])
        y = self.positions(self.target_embedding(target_in) * self.scale)
        for layer in self.decoder:
            y = layer(y, memory, future, mask)
        return self.decoder_norm(y)


def build(
    settings: ModelSettings, vocab_size: int, attention: str, device: str = "cpu"
) -> FastTransformer:
    """The model of a run, with fresh weights.

    Args:
        settings: those of the run.
        vocab_size: pieces of the vocabulary, which both languages share.
        attention: "formula" or "fused".
        device: the type of device that it is to run on.

    Returns:
        The model; with `tie`, its two embeddings and the weight of the last layer are one parameter.

    Raises:
        TranslationError: the sizes do not fit together, or into this machine.
    """
    refuse_too_large(settings)
    try:
        model = FastTransformer(vocab_size, settings, attention, device)
    except (ValueError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        raise TranslationError(f"there is no such model: {error}") from error
    if settings.tie:  # Press and Wolf (2017); Vaswani et al. (2017), section 3.4
        model.source_embedding.weight = model.target_embedding.weight
        model.project.weight = model.target_embedding.weight
    for parameter in [*model.encoder.parameters(), *model.decoder.parameters()]:
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    return model


def compile_layers(model: FastTransformer) -> None:
    """Let PyTorch compile each layer at its first call, for any number and length of sentences. Layers that
    are equal but for their weights share what is compiled, so that it takes no longer with more of them."""
    for layer in [*model.encoder, *model.decoder]:
        layer.compile(dynamic=True)


def uncompile_layers(model: FastTransformer) -> None:
    """Take that back. PyTorch has no function for it."""
    for layer in [*model.encoder, *model.decoder]:
        layer._compiled_call_impl = None


def n_parameters(model: nn.Module) -> int:
    """How many numbers a model learns; a tied parameter counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
