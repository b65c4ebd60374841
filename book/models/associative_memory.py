"""A state of fixed size as a memory: pairs are written into it one
after the other, and read with their keys.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
import torch
from torch.nn import functional as F

KINDS = ("isotropic", "positive")


def keys_of(kind: str, n: int, d: int = 64) -> torch.Tensor:
    """n random keys of length 1, (n, d).

    kind: "isotropic", no direction is preferred; "positive",
        negative entries become 0.

    Raises:
        ValueError: there is no such kind.
    """
    drawn = torch.randn(n, d)
    if kind == "positive":
        drawn = drawn.relu()
    elif kind != "isotropic":
        raise ValueError(f"kind is {kind!r}, but has to be in {KINDS}")
    return F.normalize(drawn)


def written(
    keys: torch.Tensor,
    values: torch.Tensor,
    step: float | None = None,
    fade: float = 1.0,
) -> torch.Tensor:
    """The state after one pass over pairs, (d, dv).

    Args:
        keys: (n, d). values: (n, dv).
        step: None for the plain sum; otherwise the delta rule, which
            adds so much of the difference to what is read.
        fade: what the state is multiplied by before each pair.
    """
    state = torch.zeros(keys.shape[1], values.shape[1])
    for key, value in zip(keys, values, strict=True):
        state = fade * state
        added = value
        if step is not None:
            added = step * (value - key @ state)
        state = state + torch.outer(key, added)
    return state


def recalled(read: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Which rows of read (n, dv) resemble their own value most, among
    all values (m, dv), of which the last n are their own: (n,).
    """
    cosines = F.normalize(read) @ F.normalize(values).T
    own = torch.arange(len(values) - len(read), len(values))
    return cosines.argmax(dim=1) == own
