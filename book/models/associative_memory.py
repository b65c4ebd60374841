"""A state of fixed size as a memory: pairs are written into it one
after the other, and read with their keys.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
from collections.abc import Callable

import torch
from torch.nn import functional as F

KINDS = ("isotropic", "common part", "positive", "elu + 1")


def keys_of(kind: str, n: int, d: int = 64) -> torch.Tensor:
    """n random keys of length 1, (n, d).

    kind: "isotropic", no direction is preferred; "common part", a
        vector that all of them share is added; "positive", negative
        entries become 0; "elu + 1", the features that linear
        attention began with, which are positive, too.

    Raises:
        ValueError: there is no such kind.
    """
    drawn = torch.randn(n, d)
    if kind == "common part":
        drawn = drawn / d**0.5 + F.normalize(torch.ones(d), dim=0)
    elif kind == "positive":
        drawn = drawn.relu()
    elif kind == "elu + 1":
        drawn = F.elu(drawn) + 1
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


def best_state(
    keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """The state with the least squared error for all pairs, (d, dv);
    it needs all of them at once.
    """
    return torch.linalg.pinv(keys) @ values


def centred_sum(
    keys: torch.Tensor, values: torch.Tensor, mean: torch.Tensor
) -> torch.Tensor:
    """What is read from a plain sum if mean (d,) is taken from each
    key before writing and before reading, (n, dv).
    """
    return (keys - mean) @ written(keys - mean, values)


Reader = Callable[
    [torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor
]


def share_recalled(
    kind: str, read: Reader, number: int, n: int = 128, draws: int = 5
) -> float:
    """Share of n pairs that a way to write and read gets right.

    Args:
        kind: of the keys. number: the seed.
        read: from keys (n, 64), values (n, 64) and the mean of other
            keys of their kind (64,) to what is read, (n, 64).
        draws: so many times are new pairs drawn.
    """
    torch.manual_seed(number)
    shares = []
    for _ in range(draws):
        keys, values = keys_of(kind, n), torch.randn(n, 64)
        got = read(keys, values, keys_of(kind, 1000).mean(dim=0))
        shares.append(recalled(got, values).float().mean())
    return torch.stack(shares).mean().item()
