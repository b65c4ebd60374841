# exercise: 4
# task: leaks
# kind: wrong
# mistake: position j is moved by the same random vector in all examples of the batch
# shows: for a function that subtracts one example from all (or the mean over the batch): the movement cancels and the dependence is missed; with B = 1 or without mixing of examples it is right
def leaks(fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    B, T, D = x.shape
    generator = torch.Generator().manual_seed(0)
    answer = torch.zeros(T, T, dtype=torch.bool)
    with torch.no_grad():
        before = fn(x.clone())
        for j in range(T):
            moved = x.clone()
            moved[:, j] += torch.randn(D, generator=generator, dtype=x.dtype)
            change = (fn(moved) - before).abs()
            answer[:, j] = change.amax(dim=(0, 2)) > 1e-9
    return answer
