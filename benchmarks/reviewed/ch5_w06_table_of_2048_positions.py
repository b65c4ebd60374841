# exercise: 5
# task: rope
# kind: wrong
# mistake: the cosines and sines come from a table of 2048 positions, and every later position is taken for the last one of the table
# shows: only for positions of 2048 and more
# review: not named: caught by a line on half precision alone, with a text that leads astray ("in bfloat16 x: expected 7.90625, got 8.25; data type is right")
def rope(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0) -> torch.Tensor:
    d = x.shape[-1]
    max_positions = 2048
    i = torch.arange(d // 2, dtype=torch.float64)
    table = torch.arange(max_positions, dtype=torch.float64)[:, None] * theta ** (-2 * i / d)
    angles = table[positions.clamp(max=max_positions - 1)]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)
