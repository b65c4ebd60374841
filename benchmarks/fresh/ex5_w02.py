# exercise: 5
# task: sinusoidal
# kind: wrong
# mistake: the argument base is ignored: 10000 is written into the formula, as in the blogs
# shows: only when base is given and differs from 10000, and D > 2
import math


def sinusoidal(n_positions: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    if d_model % 2:
        raise ValueError("d_model must be even")
    pe = torch.zeros(n_positions, d_model)
    position = torch.arange(0, n_positions, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe
