# exercise: 7
# task: smoothed_cross_entropy
# kind: wrong
# mistake: the targets are clamped to legal tokens first and compared with pad afterwards, so that a pad that is no token is not recognised any more
# shows: only with pad < 0 (padding counts as token 0) or pad >= V (as token V - 1)
def smoothed_cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad: int
) -> torch.Tensor:
    targets = targets.clamp(0, logits.shape[-1] - 1)  # gather can't take -100
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    losses = -(1 - smoothing) * right - smoothing * log_p.mean(dim=-1)
    real = targets != pad
    return losses[real].sum() / real.sum()
