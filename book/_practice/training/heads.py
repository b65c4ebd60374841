"""Heads to cut in the translator of number words, with weights of a file, or as a reader has let it learn."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from . import numbers
from .cutting import cut, load
from .numbers import ANSWERS, Translator

__all__ = ["ANSWERS", "train", "write"]


def shapes(model: Any) -> dict[str, tuple[int, ...]]:
    """The sizes of all that a model learns, by name."""
    return {name: tuple(one.shape) for name, one in model.named_parameters()}


def train(functions: dict[str, Callable]) -> Iterator[tuple[int, float, float]]:
    """Make the translator with a reader's functions, for the weights of a file; there is nothing to learn, and no step."""
    numbers.learner = Translator(functions, 0)
    if shapes(numbers.learner.model) != shapes(Translator({}, 0).model):
        raise ValueError(
            "The stored weights have other names or sizes than your layers. Train it here."
        )
    yield from ()


def write(given: dict[str, Any]) -> dict[str, str]:
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
