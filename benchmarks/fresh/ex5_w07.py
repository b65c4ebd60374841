# exercise: 5
# task: rope
# kind: wrong
# mistake: only the first position of each sequence is read, and the others are counted on from it
# shows: when the positions are not consecutive and ascending: gaps, another order, repeated positions
def rope(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0) -> torch.Tensor:
    T, d = x.shape[-2:]
    start = positions[..., :1].double()
    p = start + torch.arange(T, dtype=torch.float64)  # (..., T)
    freqs = 1.0 / theta ** (torch.arange(0, d, 2).double() / d)
    angles = p.unsqueeze(-1) * freqs
    cos = angles.cos().to(x.dtype).repeat_interleave(2, dim=-1)
    sin = angles.sin().to(x.dtype).repeat_interleave(2, dim=-1)
    rotated = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).reshape(x.shape)
    return x * cos + rotated * sin
