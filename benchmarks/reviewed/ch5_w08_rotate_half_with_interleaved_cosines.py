# exercise: 5
# task: rope
# kind: wrong
# mistake: the cosines and sines are laid out for adjacent pairs, each twice in a row, but rotate_half pairs entry i with entry i + d/2
# shows: wherever d is larger than 2 and a position is not 0: no entry has its partner, and the lengths of the vectors change
# review: not named, numbers only ("a usual RoPE error with an assistant")
def rotate_half(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


def rope(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0) -> torch.Tensor:
    d = x.shape[-1]
    i = torch.arange(d // 2, dtype=torch.float64)
    angles = positions[..., None] * theta ** (-2 * i / d)
    angles = angles.repeat_interleave(2, dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return x * cos + rotate_half(x) * sin
