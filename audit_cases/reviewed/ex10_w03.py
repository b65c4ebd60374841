# exercise: ch10_circuits
# task: logit_attribution
# kind: wrong
# mistake: the two axes of size 1 of the matrix products are removed with squeeze() without a dimension, which also removes n or T where these are 1
# shows: only with one part or one position: the shape is (T,), (n,) or () instead of (n, T)
def logit_attribution(
    parts: torch.Tensor, scale: torch.Tensor, w_u: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    direction = w_u[targets].unsqueeze(-1)  # (T, D, 1)
    normed = (parts / scale[:, None]).unsqueeze(-2)  # (n, T, 1, D)
    return (normed @ direction).squeeze()
