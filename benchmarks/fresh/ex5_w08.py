# exercise: 5
# task: alibi_bias
# kind: wrong
# mistake: for an H that is no power of 2 the slopes are mixed from two neighbouring powers, as in the authors' program; the statement asks for its formula for every H
# shows: only when n_heads is not a power of 2
import math


def _slopes(n: int) -> list[float]:
    if math.log2(n).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]
    closest = 2 ** math.floor(math.log2(n))
    return _slopes(closest) + _slopes(2 * closest)[0::2][: n - closest]


def alibi_bias(n_heads: int, T: int) -> torch.Tensor:
    slopes = torch.tensor(_slopes(n_heads), dtype=torch.float64)
    positions = torch.arange(T)
    distance = (positions[:, None] - positions[None, :]).abs()
    return -slopes[:, None, None] * distance
