# exercise: 5
# task: sinusoidal
# kind: wrong
# mistake: the frequencies are spread as in tensor2tensor, base ** (-i / (D/2 - 1)), so that the last one is exactly 1 / base; asked is base ** (-2 i / D)
# shows: for every D > 2, in all pairs but the first; right for D = 2
import math


def sinusoidal(n_positions: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    if d_model % 2 != 0:
        raise ValueError(f"d_model must be even, not {d_model}")
    num_timescales = d_model // 2
    log_increment = math.log(base) / max(num_timescales - 1, 1)
    inv_timescales = torch.exp(
        torch.arange(num_timescales, dtype=torch.float64) * -log_increment
    )
    angle = torch.arange(n_positions, dtype=torch.float64)[:, None] * inv_timescales[None, :]
    pe = torch.zeros(n_positions, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)
    return pe
