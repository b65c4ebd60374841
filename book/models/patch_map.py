"""Activation patching of all heads at all positions."""

# Pages show this code, in a column of 72 characters.
# fmt: off
from collections.abc import Callable, Iterable

import torch

from solutions.attention_only import AttentionOnly
from solutions.ch10_circuits import restored


def from_clean(
    source: torch.Tensor, places: list[int]
) -> Callable[[torch.Tensor], torch.Tensor]:
    """For `replace`: puts what a head adds in the clean texts,
    source (B, T, D), into what it adds, at some positions.
    """

    def patched(added: torch.Tensor) -> torch.Tensor:
        added[:, places] = source[:, places]
        return added

    return patched


def patch_map(
    model: AttentionOnly,
    clean: torch.Tensor,
    corrupted: torch.Tensor,
    at: int,
    right: torch.Tensor,
    wrong: torch.Tensor,
    groups: Iterable[list[tuple[int, int]]],
    places: Iterable[list[int]],
) -> torch.Tensor:
    """How much each patch restores of the answer.

    Args:
        clean, corrupted: (B, T), pairs of texts.
        at: the position where the answer is asked for.
        right, wrong: (B,), the answers in the two texts of a pair.
        groups: heads (layer, head) that are patched together.
        places: positions that are patched together.

    Returns:
        (groups, places).
    """
    places = list(places)
    trace = model.trace(clean)
    before = model(corrupted)[:, at]
    found = []
    for heads in groups:
        row = []
        for some in places:
            replace = {
                (i, j): from_clean(trace.added[i, :, j], some)
                for i, j in heads
            }
            after = model(corrupted, replace=replace)[:, at]
            runs = trace.logits[:, at], before, after
            row.append(restored(*runs, right, wrong))
        found.append(row)
    return torch.tensor(found)
