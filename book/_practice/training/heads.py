"""Heads to cut in the translator of number words, which has learned already, or which a reader has let learn.

`python -m book._practice.training.heads` trains `book/models/transformer.py` with seed 0 and writes its weights in half
precision, one after another in the order of their names, into heads.f16.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from . import numbers
from .numbers import ANSWERS, Translator

__all__ = ["ANSWERS", "answer", "train"]
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


def shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """The sizes of all that a model learns, by name."""
    return {name: tuple(one.shape) for name, one in model.named_parameters()}


def train(functions: dict[str, Callable]) -> Iterator[tuple[int, float, float]]:
    """Make the translator with a reader's functions, for the weights of a file; there is nothing to learn, and no step."""
    numbers.learner = Translator(functions, 0)
    if shapes(numbers.learner.model) != shapes(Translator({}, 0).model):
        raise ValueError("The stored weights have other names or sizes than your layers. Train it here.")
    yield from ()


def answer(given: dict[str, Any]) -> dict[str, str]:
    """Take "weights", a file in base64; or tell of a "number" what is written without the heads to "cut", with all
    heads, and what is correct.
    """
    learner = numbers.learner
    if "weights" in given:
        load(learner.model, base64.b64decode(given["weights"]))
        return {}
    asked = [given["number"]]
    (whole,) = learner.translate(asked)
    with cut(learner.model, given["cut"]):
        (without,) = learner.translate(asked)
    return {"without": without, "whole": whole, "correct": " ".join(learner.program.german(*asked))}


if __name__ == "__main__":
    from pathlib import Path

    from book.models.transformer import train as train_with_torch

    torch.set_num_threads(1)
    named = sorted(train_with_torch(0).named_parameters())
    flat = [weight.detach().numpy().ravel() for _, weight in named]
    Path(__file__).with_suffix(".f16").write_bytes(np.concatenate(flat).astype("<f2").tobytes())
