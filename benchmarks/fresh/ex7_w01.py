# exercise: 7
# task: smoothed_cross_entropy
# kind: wrong
# mistake: the share epsilon is spread over the V - 1 wrong tokens, as in fairseq and tensor2tensor, not over all V
# shows: for every smoothing > 0
def smoothed_cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad: int
) -> torch.Tensor:
    V = logits.shape[-1]
    log_p = torch.log_softmax(logits, dim=-1)
    nll = -log_p.gather(-1, targets.clamp(0, V - 1)[..., None])[..., 0]
    smooth = -log_p.sum(dim=-1)
    eps_i = smoothing / (V - 1)
    loss = (1 - smoothing - eps_i) * nll + eps_i * smooth
    real = targets != pad
    return loss[real].mean()
