# exercise: 8
# task: speculative_step
# kind: wrong
# mistake: a guess is accepted if u <= p / q (as in Hugging Face's r_i <= probability_ratio), not only if u < p / q
# shows: only where u is exactly 0 and the target gives the guess the probability 0: the guess is then accepted though it can never be written
def speculative_step(
    draft: torch.Tensor, p_draft: torch.Tensor, p_target: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    def draw(weights, u):
        cumulative = torch.cumsum(weights / weights.sum(), dim=0)
        above = torch.nonzero(cumulative > u)
        if len(above):
            return int(above[0])
        return int(torch.nonzero(weights > 0)[-1])  # u beyond a sum that is rounded

    n = len(draft)
    tokens = []
    for i in range(n):
        x = int(draft[i])
        ratio = p_target[i, x] / p_draft[i, x]
        if uniforms[2 * i] <= ratio:
            tokens.append(x)
            continue
        residual = torch.clamp(p_target[i] - p_draft[i], min=0)
        tokens.append(draw(residual, uniforms[2 * i + 1]))
        return torch.tensor(tokens, dtype=torch.int64)
    tokens.append(draw(p_target[n], uniforms[2 * n + 1]))
    return torch.tensor(tokens, dtype=torch.int64)
