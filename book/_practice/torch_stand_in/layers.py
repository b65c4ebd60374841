"""The layers of `torch.nn`, with the parameters, the names and the first values that they have there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import functional as F
from .dtypes import DType, device, float32
from .module import Module
from .operations import FUNCTIONS
from .random import normal_numbers, uniform_numbers
from .refusals import refuse, refuse_if, torch_raises
from .tensor import Parameter, Tensor, contiguous_tensor


def kind_of(others: Sequence[Any], named: dict[str, Any]) -> DType:
    """The data type of a layer's parameters, from what it is given last."""
    refuse_if(others or named.keys() - {"device", "dtype"}, "a layer with these arguments")
    device(named.get("device") or "cpu")
    return named.get("dtype") or float32


def drawn(shape: Sequence[int], bound: float, dtype: DType = float32) -> Parameter:
    """A parameter whose numbers lie evenly between two bounds."""
    return Parameter(contiguous_tensor(uniform_numbers(shape, -bound, bound, dtype)))


def constant(shape: Sequence[int], number: float, dtype: DType) -> Parameter:
    """A parameter of equal numbers."""
    return Parameter(contiguous_tensor(np.full(shape, number, dtype=dtype.numpy)))


class Linear(Module):
    """A matrix, and a bias."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, *others: Any, **named: Any
    ) -> None:
        super().__init__()
        dtype = kind_of(others, named)
        self.in_features, self.out_features = in_features, out_features
        bound = in_features**-0.5 if in_features else 0.0
        self.weight = drawn((out_features, in_features), bound, dtype)
        self.register_parameter("bias", drawn((out_features,), bound, dtype) if bias else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class Embedding(Module):
    """A table with a row for every token."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, **named: Any
    ) -> None:
        super().__init__()
        refuse_if(named, "torch.nn.Embedding with these arguments")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        numbers = normal_numbers((num_embeddings, embedding_dim), 0.0, 1.0, float32)
        if padding_idx is not None:
            numbers[padding_idx] = 0
        self.weight = Parameter(contiguous_tensor(numbers))

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)


class LayerNorm(Module):
    """The mean becomes 0 and the deviation 1, then each entry has a factor and a bias."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *others: Any,
        **named: Any,
    ) -> None:
        super().__init__()
        shape, dtype = normalized_shape, kind_of(others, named)
        self.normalized_shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        for name, number, wanted in (("weight", 1.0, True), ("bias", 0.0, bias)):
            made = constant(self.normalized_shape, number, dtype)
            self.register_parameter(name, made if elementwise_affine and wanted else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class Dropout(Module):
    """Drops entries in training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Identity(Module):
    """Gives what it gets."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class ReLU(Module):
    """Negative entries become 0."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return input.relu_() if self.inplace else input.relu()


class GRUCell(Module):
    """A step of a gated recurrent unit."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, **named: Any) -> None:
        super().__init__()
        refuse_if(named, "torch.nn.GRUCell with these arguments")
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        bound, height = hidden_size**-0.5, 3 * hidden_size
        self.weight_ih = drawn((height, input_size), bound)
        self.weight_hh = drawn((height, hidden_size), bound)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, drawn((height,), bound) if bias else None)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if hx is None:
            hx = FUNCTIONS["zeros"](*input.shape[:-1], self.hidden_size, dtype=input.dtype)
        odd = input.ndim not in (1, 2) or input.shape[:-1] != hx.shape[:-1]
        for name, given, size in (
            ("input has inconsistent input_size: got {} expected {}", input, self.input_size),
            ("hidden0 has inconsistent hidden_size: got {}, expected {}", hx, self.hidden_size),
        ):
            if given.shape[-1] != size:
                torch_raises(name.format(given.shape[-1], size))
        refuse_if(odd, "torch.nn.GRUCell of such a state")
        one = F.linear(input, self.weight_ih, self.bias_ih).chunk(3, dim=-1)
        other = F.linear(hx, self.weight_hh, self.bias_hh).chunk(3, dim=-1)
        reset, update = ((one[n] + other[n]).sigmoid() for n in (0, 1))
        new = (one[2] + reset * other[2]).tanh()
        return new + update * (hx - new)


class MultiheadAttention(Module):
    """PyTorch's layer; checks replace its methods where they forbid it."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *others: Any,
        batch_first: bool = False,
        **named: Any,
    ) -> None:
        super().__init__()
        dtype = kind_of(others, named)
        refuse_if(dropout or embed_dim % num_heads, "torch.nn.MultiheadAttention like this")
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.head_dim, self.dropout = embed_dim // num_heads, dropout
        self.register_parameter("in_proj_weight", None)
        made = constant((3 * embed_dim,), 0.0, dtype) if bias else None
        self.register_parameter("in_proj_bias", made)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        # torch draws it last
        bound = (6 / (4 * embed_dim)) ** 0.5
        self.in_proj_weight = drawn((3 * embed_dim, embed_dim), bound, dtype)
        if bias:
            self.out_proj.bias = constant((embed_dim,), 0.0, dtype)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        refuse_if(query.ndim != 3, "torch.nn.MultiheadAttention without a batch")
        if not self.batch_first:
            query, key, value = (one.transpose(0, 1) for one in (query, key, value))
        if len(query) != len(key):
            shape = [key.shape[1], len(query) * self.num_heads, self.head_dim]
            torch_raises(f"shape '{shape}' is invalid for input of size {key.numel()}")
        weights = self.in_proj_weight.chunk(3)
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = (
            F.linear(one, weight, bias)
            .reshape(*one.shape[:2], self.num_heads, self.head_dim)
            .transpose(1, 2)
            for one, weight, bias in zip((query, key, value), weights, biases, strict=True)
        )
        scores = q @ k.mT * self.head_dim**-0.5
        for mask, axes in ((key_padding_mask, (1, 2)), (attn_mask, (0, 1))):
            if mask is None:
                continue
            if mask.dtype.name != "bool" or mask.ndim != 2:
                refuse("such a mask of torch.nn.MultiheadAttention")
            scores = scores.masked_fill(mask.unsqueeze(axes[0]).unsqueeze(axes[1]), -float("inf"))
        of_heads = scores.softmax(-1)
        output = (of_heads @ v).transpose(1, 2).flatten(2)
        output = F.linear(output, self.out_proj.weight, self.out_proj.bias)
        output = output if self.batch_first else output.transpose(0, 1)
        if not need_weights:
            return output, None
        return output, of_heads.mean(1) if average_attn_weights else of_heads


class _NotOffered(Module):
    """Checks replace the methods of these where they forbid them."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        refuse(f"torch.nn.{type(self).__name__}")

    def forward(self, *arguments: Any, **named: Any) -> None:
        """There is none."""


for _name in ("", "Encoder", "Decoder", "EncoderLayer", "DecoderLayer"):
    globals()[f"Transformer{_name}"] = type(f"Transformer{_name}", (_NotOffered,), {})
