# exercise: 5
# task: shift_matrix
# kind: wrong
# mistake: the matrix for one step is multiplied delta times in a loop over range(delta), which does nothing for a negative delta
# shows: for delta < 0: the identity comes back instead of the steps back
def shift_matrix(delta: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    one = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        w = torch.tensor(base ** (-2 * i / d_model), dtype=torch.float64)
        one[2 * i, 2 * i] = torch.cos(w)
        one[2 * i, 2 * i + 1] = torch.sin(w)
        one[2 * i + 1, 2 * i] = -torch.sin(w)
        one[2 * i + 1, 2 * i + 1] = torch.cos(w)
    matrix = torch.eye(d_model, dtype=torch.float64)
    for _ in range(delta):
        matrix = one @ matrix
    return matrix
