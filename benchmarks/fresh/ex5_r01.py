# exercise: 5
# task: rope
# kind: right
# mistake: none; unusual: every vector is multiplied by its own full d x d rotation matrix, built from the angles by a tensor product with the 2 x 2 matrices 1 and i
# shows: never
def rope(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0) -> torch.Tensor:
    d = x.shape[-1]
    work = torch.float64 if x.dtype == torch.float64 else torch.float32
    speed = torch.tensor(
        [float(theta) ** (-2.0 * i / d) for i in range(d // 2)], dtype=torch.float64
    )
    phi = torch.einsum("...t,i->...ti", positions.to(torch.float64), speed)
    unit = torch.eye(2, dtype=torch.float64)
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    pairs = torch.eye(d // 2, dtype=torch.float64)
    matrix = torch.einsum("...i,ij,uv->...iujv", phi.cos(), pairs, unit)
    matrix = matrix + torch.einsum("...i,ij,uv->...iujv", phi.sin(), pairs, turn)
    matrix = matrix.flatten(-4, -3).flatten(-2, -1).to(work)  # (..., T, d, d)
    return (matrix @ x.to(work).unsqueeze(-1)).squeeze(-1).to(x.dtype)
