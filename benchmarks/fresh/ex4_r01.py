# exercise: 4
# task: leaks
# kind: right
# mistake: none; unusual: every single number of the input (one example, one position, one feature) is moved alone by 1, and the function is called once for each
# shows: never
def leaks(fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    n_positions = x.shape[1]
    depends = [[False] * n_positions for _ in range(n_positions)]
    with torch.no_grad():
        base = fn(x.detach().clone()).clone()
        for b in range(x.shape[0]):
            for j in range(n_positions):
                for f in range(x.shape[2]):
                    poked = x.detach().clone()
                    poked[b, j, f] = poked[b, j, f] + 1.0
                    moved = (fn(poked) - base).abs() > 1e-9
                    for i in range(n_positions):
                        if bool(moved[:, i].any()):
                            depends[i][j] = True
    return torch.tensor(depends, dtype=torch.bool).reshape(n_positions, n_positions)
