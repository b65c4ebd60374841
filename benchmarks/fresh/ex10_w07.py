# exercise: 10
# task: composition
# kind: wrong
# mistake: the norms are spectral norms (the largest singular value, ord=2 for a matrix) instead of Frobenius norms
# shows: for matrices of rank 2 and more; matrices of rank 1, as in the small case, are right
def composition(w_a: torch.Tensor, w_b: torch.Tensor) -> float:
    norm_a = torch.linalg.norm(w_a, ord=2)
    norm_b = torch.linalg.norm(w_b, ord=2)
    if norm_a == 0 or norm_b == 0:
        return 0.0
    return (torch.linalg.norm(w_b @ w_a, ord=2) / (norm_a * norm_b)).item()
