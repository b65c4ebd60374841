# exercise: 7
# task: greedy_decode
# kind: wrong
# mistake: rows that have ended are left out of what step_fn gets, to save work
# shows: where rows end at different lengths: step_fn is called with fewer rows and takes them for other sentences
def greedy_decode(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    max_len: int,
    batch: int,
    pad: int,
) -> torch.Tensor:
    prefix = torch.full((batch, max_len + 1), pad)
    prefix[:, 0] = bos
    alive = torch.arange(batch)  # the rows that are still being written
    t = 0
    while t < max_len and len(alive) > 0:
        log_probs = step_fn(prefix[alive, : t + 1])
        token = log_probs.argmax(dim=-1)
        t += 1
        prefix[alive, t] = token
        alive = alive[token != eos]
    return prefix[:, 1 : t + 1]
