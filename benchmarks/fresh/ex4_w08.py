# exercise: 4
# task: masked_cross_entropy
# kind: wrong
# mistake: the targets at padding are replaced by token 0 in the caller's own tensor
# shows: in the argument after the call: targets no longer holds pad (and a second call with it gives another loss); the first value is right
def masked_cross_entropy(logits: torch.Tensor, targets: torch.Tensor, pad: int) -> torch.Tensor:
    real = targets != pad
    targets[~real] = 0  # any valid token, so that gather does not fail
    safe = torch.where(real.unsqueeze(-1), logits, torch.zeros_like(logits))
    log_p = torch.log_softmax(safe, dim=-1)
    nll = -log_p.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)
    return torch.where(real, nll, torch.zeros_like(nll)).sum() / real.sum()
