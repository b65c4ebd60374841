# exercise: 7
# task: smoothed_cross_entropy
# kind: wrong
# mistake: the targets are flattened with view(-1), which fails where they are not contiguous
# shows: only for targets (or logits) that are not contiguous, such as those of shift: a RuntimeError
def smoothed_cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad: int
) -> torch.Tensor:
    V = logits.size(-1)
    criterion = nn.CrossEntropyLoss(ignore_index=pad, label_smoothing=smoothing)
    return criterion(logits.view(-1, V), targets.view(-1))
