# exercise: 3
# task: split_heads
# kind: wrong
# mistake: the result is filled into a torch.zeros of the default data type, so that it is always float32
# shows: for every x that is not float32: wrong dtype, float64 loses digits, large integers are rounded
def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    B, T, D = x.shape
    d = D // n_heads
    out = torch.zeros(B, n_heads, T, d)
    for h in range(n_heads):
        out[:, h] = x[:, :, h * d : (h + 1) * d]
    return out
