"""`torch.nn`."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import functional, layers, module
from .operations import FUNCTIONS
from .random import normal_numbers, uniform_numbers
from .refusals import Names, lacks, offered, refuse
from .tensor import Parameter, Tensor

__getattr__ = lacks("torch.nn")
OFFERED: dict[Any, str] = {
    module: "Module ModuleList Sequential",
    layers: (
        "Dropout Embedding GRUCell Identity LayerNorm Linear MultiheadAttention ReLU "
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
    ),
}
for _module, _names in OFFERED.items():
    globals().update({name: getattr(_module, name) for name in _names.split()})
__all__ = ["Parameter", "functional", "init", *" ".join(OFFERED.values()).split()]


def _filling(name: str, draw: Callable) -> Callable:
    """A function of `torch.nn.init`. draw: from the shape and further arguments, the numbers."""

    def function(tensor: Tensor, *arguments: Any, **named: Any) -> Tensor:
        numbers = draw(tensor, *arguments, **named)
        tensor._array[...] = numbers
        tensor._counter[0] += 1
        return tensor

    function.__name__ = name
    return offered(function)


def _normal(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    return normal_numbers(tensor.shape, mean, std, tensor.dtype)


def _xavier(tensor: Tensor, gain: float = 1.0) -> np.ndarray:
    rows, columns = tensor.shape
    bound = gain * (6 / (rows + columns)) ** 0.5
    return uniform_numbers(tensor.shape, -bound, bound, tensor.dtype)


init = Names(
    xavier_uniform_=_filling("xavier_uniform_", _xavier),
    normal_=_filling("normal_", _normal),
    zeros_=_filling("zeros_", lambda tensor: 0.0),
    ones_=_filling("ones_", lambda tensor: 1.0),
    constant_=_filling("constant_", lambda tensor, val: val),
)


@offered
def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0
) -> Tensor:
    """Sequences of different lengths in one tensor."""
    if any(one.ndim != 1 or one.requires_grad for one in sequences) or not batch_first:
        refuse("torch.nn.utils.rnn.pad_sequence of these tensors")
    shape = len(sequences), max(map(len, sequences))
    made = FUNCTIONS["full"](shape, padding_value, dtype=sequences[0].dtype)
    for row, one in zip(made._array, sequences, strict=True):
        row[: len(one)] = one._array
    return made


utils = Names(rnn=Names(pad_sequence=pad_sequence))
_HOOKS = (
    *("buffer_registration", "module_registration", "parameter_registration", "backward_pre"),
    *("backward", "forward_pre", "forward"),
)
modules = types.SimpleNamespace(
    module=types.SimpleNamespace(
        **{f"_global_{name}_hooks": {} for name in _HOOKS},
        _global_forward_hooks_always_called={},
        _global_forward_hooks_with_kwargs={},
    )
)
