"""A trained Transformer of `book/models/transformer.py` in a file, and its heads, which can be cut.

`python -m book._practice.training.cutting` trains it with seed 0 and writes its weights in half precision, one after
another in the order of their names, into heads.f16.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

# where the attentions are, and how many heads each has
PARTS = ("encoder.0.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention")
HEADS = 4


def load(model: Any, stored: bytes) -> None:
    """Give a model the weights of a file."""
    given = torch.tensor(np.frombuffer(stored, "<f2").astype(np.float32))
    start = 0
    with torch.no_grad():
        for _, weight in sorted(model.named_parameters()):
            end = start + weight.numel()
            weight[...] = given[start:end].reshape(weight.shape)
            start = end


@contextlib.contextmanager
def cut(model: Any, heads: Sequence[int]) -> Iterator[None]:
    """Set the columns of `w_o` that read some heads to zero for a while. heads: from 0 to 11, in the order of PARTS."""
    weights = dict(model.named_parameters())
    read = [weights[f"{part}.w_o.weight"] for part in PARTS]
    before = [weight.detach().clone() for weight in read]
    size = read[0].shape[1] // HEADS
    with torch.no_grad():
        for part, head in (divmod(head, HEADS) for head in heads):
            read[part][:, head * size : (head + 1) * size] = 0
        try:
            yield
        finally:
            for weight, old in zip(read, before, strict=True):
                weight[...] = old


if __name__ == "__main__":
    from pathlib import Path

    from book.models.transformer import train as train_with_torch

    torch.set_num_threads(1)
    named = sorted(train_with_torch(0).named_parameters())
    flat = [weight.detach().numpy().ravel() for _, weight in named]
    stored = np.concatenate(flat).astype("<f2").tobytes()
    Path(__file__).with_name("heads.f16").write_bytes(stored)
