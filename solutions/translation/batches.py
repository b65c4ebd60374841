"""Batches of about as many tokens each, of sentences of about the same length."""

from __future__ import annotations

import random
from functools import lru_cache

import torch
from torch.nn.utils.rnn import pad_sequence

from solutions.translation.tokenizer import BOS, PAD


class Batches:
    """An endless stream of batches, epoch after epoch; batch n is a function of n and the seed.

    So a resumed run needs to know only its step, and every process of several knows all batches.
    Sentences are shuffled anew in each epoch, then sorted by length, then cut into batches, which are
    shuffled. All epochs have the same lengths in the same order before the last shuffle, and so the
    same number of batches.

    Args:
        sources: pieces of each sentence, with EOS.
        targets: pieces of its translation, with EOS.
        tokens: rows times the longest sentence of a batch is at most this; one longer sentence is a
            batch of its own.
        seed: of the shuffling.
    """

    def __init__(
        self, sources: list[list[int]], targets: list[list[int]], tokens: int, seed: int
    ) -> None:
        self.sources = [torch.tensor(row) for row in sources]
        self.targets = [torch.tensor([BOS, *row]) for row in targets]
        self.lengths = [
            (len(source), len(target)) for source, target in zip(sources, targets, strict=True)
        ]
        self.tokens = tokens
        self.seed = seed
        self._epoch = lru_cache(maxsize=2)(self._shuffled)  # a step may lie in two epochs
        self.count = len(self._epoch(0))

    def __len__(self) -> int:
        """Batches of an epoch."""
        return self.count

    def _shuffled(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, as lists of rows."""
        draw = random.Random(f"{self.seed} {epoch}")
        order = list(range(len(self.sources)))
        draw.shuffle(order)

        def by_length(row: int) -> tuple[int, int]:
            # every other target length runs back, so that source lengths do not jump between them
            source, target = self.lengths[row]
            return target, source if target % 2 else -source

        batches: list[list[int]] = []
        longest = 0
        for row in sorted(order, key=by_length):
            longest = max(longest, *self.lengths[row])
            if not batches or (len(batches[-1]) + 1) * longest > self.tokens:
                batches.append([])
                longest = max(self.lengths[row])
            batches[-1].append(row)
        draw.shuffle(batches)
        return batches

    def _rows(self, n: int) -> list[int]:
        """The sentences of batch n."""
        epoch, place = divmod(n, self.count)
        return self._epoch(epoch)[place]

    def __getitem__(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Batch n: source (B, S), and target (B, T + 1) from BOS to EOS, both padded."""
        rows = self._rows(n)
        return (
            pad_sequence([self.sources[row] for row in rows], True, PAD),
            pad_sequence([self.targets[row] for row in rows], True, PAD),
        )

    def predicted(self, n: int) -> int:
        """How many tokens are to be predicted in batch n, padding left out."""
        return sum(self.lengths[row][1] for row in self._rows(n))

    def padding(self) -> float:
        """The share of padding among all entries of an epoch, source and target together."""
        real = entries = 0
        for n in range(len(self)):
            for part in self[n]:
                real += int((part != PAD).sum())
                entries += part.numel()
        return 1 - real / entries
