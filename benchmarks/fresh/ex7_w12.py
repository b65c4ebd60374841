# exercise: 7
# task: beam_search
# kind: wrong
# mistake: what is still open at max_len counts only if nothing has ended before
# shows: only where something has ended in EOS and an open prefix at max_len has a better score
def beam_search(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    beam: int,
    max_len: int,
    alpha: float,
) -> tuple[torch.Tensor, float]:
    def score(log_p: float, length: int) -> float:
        return log_p / ((5 + length) / 6) ** alpha

    prefixes = torch.tensor([[bos]])
    log_probs = None
    best, best_score = None, -math.inf
    for length in range(1, max_len + 1):
        steps = step_fn(prefixes)
        total = steps if log_probs is None else steps + log_probs[:, None]
        V = total.shape[1]
        values, flat = total.flatten().topk(min(beam, total.numel()))
        prefixes = torch.cat([prefixes[flat // V], (flat % V)[:, None]], dim=1)
        over = prefixes[:, -1] == eos
        if length == max_len and best is None and not over.any():
            over = torch.ones_like(over)  # nothing has ended: take what there is
        for value, row in zip(values[over].tolist(), prefixes[over]):
            if score(value, length) > best_score:
                best, best_score = row[1:], score(value, length)
        prefixes, log_probs = prefixes[~over], values[~over]
        if len(prefixes) == 0:
            break
    return best, best_score
