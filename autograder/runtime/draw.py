"""Drawing the inputs of a grade cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .tensors import needed

if TYPE_CHECKING:
    import torch

# entries of an array of whole numbers
MAX_WHOLE = 24


class Draw:
    """Draws the inputs of a grade cell from numpy's RandomState, whose stream is frozen.

    words: integers that seed it; small: all sizes are the smallest that `sizes` may draw, and small arrays hold whole
    numbers, no two alike and none 0. Normal values are rounded to 4 digits, so that all machines draw the same numbers.
    """

    def __init__(self, *words: int, small: bool = False) -> None:
        self._small = small
        self._random = np.random.RandomState([word % 2**32 for word in words])
        self.parameter_seed = int(self._random.randint(2**31 - 1))

    def sizes(self, n: int, low: int = 2, high: int = 9) -> list[int]:
        """n pairwise distinct integers between low and high, both included."""
        if self._small:
            return list(range(low, low + n))
        return [int(size) for size in low + self._random.permutation(high - low + 1)[:n]]

    def integer(self, low: int, high: int) -> int:
        """One integer between low and high, both included."""
        return int(self._random.randint(low, high + 1))

    def integers(self, *shape: int, low: int, high: int) -> np.ndarray:
        """An int64 array of integers between low and high, both included."""
        return self._random.randint(low, high + 1, size=shape).astype(np.int64)

    def choices(self, n: int, options: Sequence) -> list:
        """n options drawn with replacement."""
        return [options[i] for i in self._random.randint(len(options), size=n)]

    def permutation(self, n: int) -> np.ndarray:
        """A permutation of 0 .. n - 1."""
        return self._random.permutation(n).astype(np.int64)

    def array(self, *shape: int) -> np.ndarray:
        """A float64 array of about standard normal values."""
        if self._small and (size := math.prod(shape)) <= MAX_WHOLE:
            numbers = self._random.permutation(size)
            return np.where(numbers % 2, -1.0, 1.0).reshape(shape) * (numbers // 2 + 1).reshape(
                shape
            )
        return np.round(self._random.standard_normal(shape), 4)

    def tensor(self, *shape: int) -> torch.Tensor:
        """A float64 tensor of about standard normal values."""
        return needed().from_numpy(self.array(*shape))

    def mask(self, *shape: int, empty: int = 0) -> np.ndarray:
        """A boolean array, True = may attend; every row (last axis) has a True and, if it can, a False.

        empty: so many rows, drawn, are all False.
        """
        rows = self._random.random_sample(shape).reshape(-1, shape[-1]) < 0.6
        for row in rows:
            allowed = self._random.permutation(shape[-1])
            row[allowed[0]] = True
            if shape[-1] > 1:
                row[allowed[1]] = False
        rows[self._random.permutation(len(rows))[:empty]] = False
        return rows.reshape(shape)
