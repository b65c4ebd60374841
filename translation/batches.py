"""Batches of about as many tokens each, of sentences of about the same length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
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


@dataclass(frozen=True)
class _Epoch:
    sources: Rows
    targets: Rows
    batches: list[np.ndarray]


class Batches:
    """An endless stream of batches, epoch after epoch; batch n is a function of n and the seed.

    So a resumed run needs to know only how many batches it has had, and every process of several knows
    all batches. Sentences are shuffled anew in each epoch, then sorted by length, then cut into batches,
    which are shuffled.

    Args:
        encoded: the source and the target sentences in an epoch, with EOS; always as many of them.
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
        encoded: Callable[[int], tuple[Rows, Rows]],
        tokens: int,
        seed: int,
        multiple: int = 1,
        few_shapes: bool = False,
    ) -> None:
        self.encoded = encoded
        self.tokens = tokens
        self.seed = seed
        self.multiple = multiple
        self.few_shapes = few_shapes
        self.begins = [0]  # the number of each epoch's first batch, as far as it is known
        self._epoch = lru_cache(maxsize=2)(self._shuffled)  # a step may lie in two epochs

    @property
    def sentences(self) -> int:
        """Sentences of an epoch."""
        return len(self._epoch(0).sources)

    @property
    def target_lengths(self) -> np.ndarray:
        """The length of each target sentence in the first epoch, with EOS."""
        return self._epoch(0).targets.lengths

    def __len__(self) -> int:
        """Batches of the first epoch; others have about as many."""
        return len(self._epoch(0).batches)

    def _rounded(self, number: int, multiple: int = 1) -> int:
        """A length or a number of rows, rounded up."""
        parts = -(-number // multiple)
        if self.few_shapes:
            step = 2 ** max(0, (parts - 1).bit_length() - 3)
            parts = -(-parts // step) * step
        return parts * multiple

    def _shuffled(self, number: int) -> _Epoch:
        """The batches of an epoch."""
        sources, targets = self.encoded(number)
        draw = np.random.default_rng([self.seed, number])
        order = draw.permutation(len(sources))
        left, right = sources.lengths[order], targets.lengths[order]
        # every other target length runs back, so that source lengths do not jump between them
        order = order[np.lexsort((np.where(right % 2, left, -left), right))]
        longer = np.maximum(sources.lengths, targets.lengths)[order].tolist()
        cuts, begin, longest = [], 0, 0
        for place, length in enumerate(longer):
            longest = max(longest, length)
            if place > begin and (place - begin + 1) * longest > self.tokens:
                cuts.append(place)
                begin, longest = place, length
        batches = np.split(order, cuts)
        return _Epoch(sources, targets, [batches[n] for n in draw.permutation(len(batches))])

    def _place(self, n: int) -> tuple[_Epoch, np.ndarray]:
        """The epoch of batch n, and its sentences."""
        number = self.epoch_of(n)
        epoch = self._epoch(number)
        return epoch, epoch.batches[n - self.begins[number]]

    def __getitem__(self, n: int) -> Batch:
        """Batch n."""
        epoch, rows = self._place(n)
        wide = self._rounded(int(epoch.sources.lengths[rows].max()), self.multiple)
        high = self._rounded(int(epoch.targets.lengths[rows].max()), self.multiple)
        source, target = epoch.sources.padded(rows, wide), epoch.targets.padded(rows, high)
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
            int(epoch.targets.lengths[rows].sum()),
            rows,
        )

    def predicted(self, n: int) -> int:
        """How many tokens are to be predicted in batch n, padding left out."""
        epoch, rows = self._place(n)
        return int(epoch.targets.lengths[rows].sum())

    def epoch_of(self, n: int) -> int:
        """The epoch that batch n belongs to, from 0."""
        while n >= self.begins[-1]:
            last = len(self.begins) - 1
            self.begins.append(self.begins[-1] + len(self._epoch(last).batches))
        return bisect_right(self.begins, n) - 1

    def padding(self) -> float:
        """The share of padding among all entries of an epoch, source and target together."""
        epoch = self._epoch(0)
        real = int(epoch.sources.lengths.sum() + epoch.targets.lengths.sum())
        entries = sum(
            self[n].source.numel() + self[n].target[:, 1:].numel() for n in range(len(self))
        )
        return 1 - real / entries
