# exercise: ch5_positional_encoding
# task: shift_matrix
# kind: wrong
# mistake: the matrix of one step is multiplied by itself delta - 1 times, and for a negative delta the loop doesn't run
# shows: only for negative delta: the matrix moves by one position forward, however far back it should go
# named: only one step
def shift_matrix(delta: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    if delta == 0:
        return torch.eye(d_model, dtype=torch.float64)
    i = torch.arange(d_model // 2, dtype=torch.float64)
    angles = base ** (-2 * i / d_model)
    cos, sin = angles.cos(), angles.sin()
    rows = torch.stack([cos, sin], dim=-1), torch.stack([-sin, cos], dim=-1)
    one_step = torch.block_diag(*torch.stack(rows, dim=1))
    matrix = one_step
    for _ in range(1, delta):
        matrix = one_step @ matrix
    return matrix
