# exercise: 5
# task: shift_matrix
# kind: right
# mistake: none; unusual: Kronecker products of diagonal matrices with 1 and the quarter turn, cosines and sines as real and imaginary parts of complex powers
# shows: never
import cmath


def shift_matrix(delta: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    z = [cmath.exp(1j * delta * base ** (-2 * i / d_model)) for i in range(d_model // 2)]
    real = torch.diag(torch.tensor([c.real for c in z], dtype=torch.float64))
    imag = torch.diag(torch.tensor([c.imag for c in z], dtype=torch.float64))
    quarter = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    return torch.kron(real, torch.eye(2, dtype=torch.float64)) + torch.kron(imag, quarter)
