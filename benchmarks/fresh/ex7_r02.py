# exercise: 7
# task: greedy_decode
# kind: right
# mistake: none; all rows, also those that have ended, are continued with their own argmax in a buffer that is filled from the left, the stopping rule is read off the whole history in each round, and pad is written once, at the end, by a cumulative count of EOS
# shows: never
def greedy_decode(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    max_len: int,
    batch: int,
    pad: int,
) -> torch.Tensor:
    history = [torch.as_tensor([bos] * batch, dtype=torch.int64)]
    while len(history) <= max_len and not (len(history) > 1 and bool((torch.stack(history[1:]) == eos).any(dim=0).all())):
        history.append(step_fn(torch.stack(history, dim=1)).max(dim=1).indices)
    raw = torch.stack(history[1:], dim=1)
    is_eos = raw.eq(eos).long()
    ends_before = is_eos.cumsum(dim=1) - is_eos  # how many EOS stand left of each token
    return torch.where(ends_before > 0, pad, raw)
