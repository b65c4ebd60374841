# exercise: 7
# task: beam_search
# kind: wrong
# mistake: the length in the penalty of a sentence that has ended leaves out EOS
# shows: with alpha other than 0: the score is too low for every sentence that ends in EOS, and another one may win
def beam_search(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    beam: int,
    max_len: int,
    alpha: float,
) -> tuple[torch.Tensor, float]:
    def score(log_p: float, row: torch.Tensor) -> float:
        length = int((row != eos).sum())
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
        if length == max_len:
            over = torch.ones_like(over)
        for value, row in zip(values[over].tolist(), prefixes[over]):
            ids = row[1:]
            if score(value, ids) > best_score:
                best, best_score = ids, score(value, ids)
        prefixes, log_probs = prefixes[~over], values[~over]
        if len(prefixes) == 0:
            break
    return best, best_score
