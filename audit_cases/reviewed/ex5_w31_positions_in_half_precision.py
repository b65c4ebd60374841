# exercise: ch5_positional_encoding
# task: sinusoidal
# kind: wrong
# mistake: positions are rounded to bfloat16, so 257 becomes 256
# shows: from position 257 on
def sinusoidal(n_positions: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    if d_model % 2:
        raise ValueError("d_model must be even")
    position = torch.arange(n_positions).to(torch.bfloat16).double()[:, None]
    angle = position / base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
