"""Batches of about as many tokens each, of sentences of about the same length."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from translation.tokenizer import BOS, EOS, PAD, Rows


@dataclass(frozen=True)
class Batch:
    """source (B, S), and target (B, T + 1) from BOS to EOS, both padded; `tokens` are to be predicted,
    and `rows` are the numbers of the sentences, fewer than B if there are rows with nothing to predict."""

    source: torch.Tensor
    target: torch.Tensor
    tokens: int
    rows: np.ndarray


class Batches:
    """An endless stream of batches, epoch after epoch; batch n is a function of n and the seed.

    So a resumed run needs to know only how many batches it has had, and every process of several knows
    all batches. Sentences are shuffled anew in each epoch, then sorted by length, then cut into batches,
    which are shuffled.

    Args:
        sources, targets: the source and the target sentences, with EOS; as many of both.
        tokens: rows times the longest sentence of a batch is at most this; one longer sentence is a
            batch of its own.
        seed: of the shuffling.
        multiple: lengths are rounded up to a multiple of this. That changes no batch's sentences, so
            that a run learns from the same batches on every device.
        few_shapes: round lengths up further, and add rows with nothing to predict, so that there are at most
            four lengths, and four numbers of rows, between a number and its double.
    """

    def __init__(
        self,
        sources: Rows,
        targets: Rows,
        tokens: int,
        seed: int,
        multiple: int = 1,
        few_shapes: bool = False,
    ) -> None:
        self.sources = sources
        self.targets = targets
        self.tokens = tokens
        self.seed = seed
        self.multiple = multiple
        self.few_shapes = few_shapes
        self.begins = [0]  # the number of each epoch's first batch, as far as it is known
        self._epoch = lru_cache(maxsize=2)(self._shuffled)  # a step may lie in two epochs

    @property
    def sentences(self) -> int:
        """Sentences of an epoch."""
        return len(self.sources)

    def __len__(self) -> int:
        """Batches of the first epoch; others have about as many."""
        return len(self._epoch(0))

    def _rounded(self, number: int, multiple: int = 1) -> int:
        """A length or a number of rows, rounded up."""
        parts = -(-number // multiple)
        if self.few_shapes:
            step = 2 ** max(0, (parts - 1).bit_length() - 3)
            parts = -(-parts // step) * step
        return parts * multiple

    def _shuffled(self, number: int) -> list[np.ndarray]:
        """The sentences of each batch of an epoch."""
        draw = np.random.default_rng([self.seed, number])
        order = draw.permutation(len(self.sources))
        left, right = self.sources.lengths[order], self.targets.lengths[order]
        # every other target length runs back, so that source lengths do not jump between them
        order = order[np.lexsort((np.where(right % 2, left, -left), right))]
        longer = np.maximum(self.sources.lengths, self.targets.lengths)[order].tolist()
        cuts, begin, longest = [], 0, 0
        for place, length in enumerate(longer):
            longest = max(longest, length)
            if place > begin and (place - begin + 1) * longest > self.tokens:
                cuts.append(place)
                begin, longest = place, length
        batches = np.split(order, cuts)
        return [batches[n] for n in draw.permutation(len(batches))]

    def _rows(self, n: int) -> np.ndarray:
        """The sentences of batch n."""
        number = self.epoch_of(n)
        return self._epoch(number)[n - self.begins[number]]

    def __getitem__(self, n: int) -> Batch:
        """Batch n."""
        rows = self._rows(n)
        wide = self._rounded(int(self.sources.lengths[rows].max()), self.multiple)
        high = self._rounded(int(self.targets.lengths[rows].max()), self.multiple)
        source, target = self.sources.padded(rows, wide), self.targets.padded(rows, high)
        if self.few_shapes:
            missing = self._rounded(len(rows)) - len(rows)
            source, target = (
                np.pad(ids, ((0, missing), (0, 0)), constant_values=PAD) for ids in (source, target)
            )
            source[len(rows) :, 0] = EOS  # since nobody can attend to nothing
        begin = np.full((len(target), 1), BOS)
        return Batch(
            torch.from_numpy(source),
            torch.from_numpy(np.concatenate([begin, target], axis=1)),
            self.predicted(n),
            rows,
        )

    def predicted(self, n: int) -> int:
        """How many tokens are to be predicted in batch n, padding left out."""
        return int(self.targets.lengths[self._rows(n)].sum())

    def epoch_of(self, n: int) -> int:
        """The epoch that batch n belongs to, from 0."""
        while n >= self.begins[-1]:
            last = len(self.begins) - 1
            self.begins.append(self.begins[-1] + len(self._epoch(last)))
        return bisect_right(self.begins, n) - 1
