# exercise: ch8_language_model
# task: speculative_step
# kind: wrong
# mistake: the token after all guesses is drawn with uniforms[2 * n], not with uniforms[2 * n + 1]
# shows: only where all guesses are accepted, or there are none
# named: the same number judges and draws
def speculative_step(
    draft: torch.Tensor, p_draft: torch.Tensor, p_target: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    def drawn(p: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        cumulative = p.cumsum(dim=0) / p.sum()
        return (cumulative <= u).sum()[None]

    n = len(draft)
    for i in range(n):
        token = draft[i]
        if uniforms[2 * i] * p_draft[i, token] >= p_target[i, token]:
            residual = (p_target[i] - p_draft[i]).clamp(min=0)
            return torch.cat([draft[:i], drawn(residual, uniforms[2 * i + 1])])
    return torch.cat([draft, drawn(p_target[n], uniforms[2 * n])])
