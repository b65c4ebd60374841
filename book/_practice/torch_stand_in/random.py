"""Random numbers: those that torch draws from the same seed on a processor.

From Matsumoto's and Nishimura's generator, as NumPy has it, torch makes numbers between 0 and 1 of the last 24
bits of one word or the last 53 bits of two, and normal ones by Box's and Muller's transformation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .dtypes import DType, float32, float64
from .operations import only_function
from .refusals import lacks_attributes, refuse_if
from .shapes import made_of, sizes_in
from .tensor import Tensor

# so many normal numbers are made of each other at once
BLOCK = 16


class Generator:
    """What draws."""

    __getattr__ = lacks_attributes("torch.Generator")

    def __init__(self, device: Any = "cpu") -> None:
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        self._words, self._normal = np.random.RandomState(seed % 2**32), math.nan
        return self

    def words(self, count: int) -> np.ndarray:
        return np.frombuffer(self._words.bytes(4 * count), dtype="<u4").astype(np.uint64)

    def uniform(self, count: int, dtype: DType = float64) -> np.ndarray:
        if dtype is not float64:
            return ((self.words(count) & np.uint64(2**24 - 1)) * 2.0**-24).astype(np.float32)
        words = self.words(2 * count)
        return (((words[::2] << np.uint64(32)) | words[1::2]) & np.uint64(2**53 - 1)) * 2.0**-53

    def normal(self, count: int, dtype: DType, in_blocks: bool = True) -> np.ndarray:
        if count < BLOCK or not in_blocks:
            return np.array([self._next_normal() for _ in range(count)])
        numbers, whole = self.uniform(count, dtype), count - count % BLOCK
        numbers[:whole] = _blocks(numbers[:whole])
        if whole < count:
            numbers[-BLOCK:] = _blocks(self.uniform(BLOCK, dtype))
        return numbers

    def _next_normal(self) -> float:
        found, self._normal = self._normal, math.nan
        if math.isnan(found):
            turn, length = self.uniform(2)
            radius = math.sqrt(-2 * math.log1p(-length))
            self._normal = radius * math.sin(2 * math.pi * turn)
            found = radius * math.cos(2 * math.pi * turn)
        return found


def _blocks(numbers: np.ndarray) -> np.ndarray:
    """Uniform numbers, in blocks, as normal ones."""
    lengths, turns = np.split(numbers.reshape(-1, BLOCK), 2, axis=1)
    radius = np.sqrt(-2 * np.log(1 - lengths))
    turns = 2 * math.pi * turns
    return np.concatenate([radius * np.cos(turns), radius * np.sin(turns)], axis=1).reshape(-1)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Begin anew where nothing is said of a generator."""
    return default_generator.manual_seed(seed)


def uniform_numbers(shape: Sequence[int], low: float, high: float, dtype: DType) -> np.ndarray:
    """A parameter's first values, evenly between two bounds."""
    kind = dtype.numpy.type
    numbers = default_generator.uniform(math.prod(shape), dtype).astype(dtype.numpy)
    return (numbers * kind(high - low) + kind(low)).reshape(shape)


def normal_numbers(shape: Sequence[int], mean: float, std: float, dtype: DType) -> np.ndarray:
    """A parameter's first values, around a mean."""
    numbers = default_generator.normal(math.prod(shape), dtype)
    return (numbers * std + mean).astype(dtype.numpy).reshape(shape)


def kept(like: np.ndarray, share: float) -> np.ndarray:
    """Which entries of an array are kept, in the order in which they lie in memory."""
    return _as_it_lies(like, default_generator.uniform(like.size) < share)


def _as_it_lies(like: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Numbers in the places of an array, in the order in which these lie in memory."""
    whole = 0 not in like.strides or like.size < 2
    found = np.empty_like(like, dtype=numbers.dtype, order="K" if whole else "C")
    found.ravel(order="K")[...] = numbers
    return found


def _drawing(name: str, draw: Any) -> None:
    """rand, rand_like; randn, randn_like."""

    def function(
        *size: Any, dtype: DType | None = None, generator: Generator | None = None, **named: Any
    ) -> Tensor:
        shape, kind = sizes_in(size), dtype or float32
        refuse_if(kind not in (float32, float64), f"torch.{name} of {kind}")
        numbers = draw(generator or default_generator, math.prod(shape), kind)
        return made_of(numbers.reshape(shape), kind, **named)

    def like(input: Tensor, *, dtype: DType | None = None, **named: Any) -> Tensor:
        kind, array = dtype or input.dtype, input._array
        refuse_if(kind not in (float32, float64), f"torch.{name}_like of {kind}")
        # torch makes no blocks of numbers that don't lie one after the other
        apart = {} if array.flags.c_contiguous or name == "rand" else {"in_blocks": False}
        numbers = draw(default_generator, array.size, kind, **apart)
        found = made_of(np.zeros(0), kind, **named)
        found._array = _as_it_lies(array, numbers.astype(kind.numpy))
        found._regular = input._regular
        return found

    only_function(function, name)
    only_function(like, f"{name}_like", as_it_is=True)


_drawing("rand", Generator.uniform)
_drawing("randn", Generator.normal)
