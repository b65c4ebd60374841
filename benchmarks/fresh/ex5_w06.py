# exercise: 5
# task: rope
# kind: wrong
# mistake: the frequencies are kept in a module-level dictionary under the width d alone, so that a later call with another theta gets those of the first
# shows: from the second call on, when theta differs from that of the first call with the same d (and d > 2)
_FREQUENCIES = {}


def rope(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0) -> torch.Tensor:
    d = x.shape[-1]
    if d not in _FREQUENCIES:
        exponent = torch.arange(0, d, 2, dtype=torch.float64) / d
        _FREQUENCIES[d] = theta**-exponent
    angle = positions.to(torch.float64)[..., None] * _FREQUENCIES[d]  # (..., T, d / 2)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
