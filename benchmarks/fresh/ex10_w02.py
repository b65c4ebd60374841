# exercise: 10
# task: copying
# kind: wrong
# mistake: the sum of the eigenvalues is complex, and is made real by its absolute value, so the sign is lost
# shows: only for matrices whose trace is negative: the result is positive
def copying(ov: torch.Tensor) -> float:
    eigenvalues = torch.linalg.eigvals(ov)
    size = eigenvalues.abs().sum()
    if size == 0:
        return 0.0
    return (eigenvalues.sum().abs() / size).item()
