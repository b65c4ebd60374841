# exercise: 7
# task: beam_search
# kind: wrong
# mistake: stops as soon as the best finished score is above the scores of all open prefixes at their present length, although a longer sentence may still score better when alpha > 0
# shows: only with alpha > 0, where a prefix that is behind would have won by its length
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
        if length == max_len:
            over = torch.ones_like(over)
        for value, row in zip(values[over].tolist(), prefixes[over]):
            if score(value, length) > best_score:
                best, best_score = row[1:], score(value, length)
        prefixes, log_probs = prefixes[~over], values[~over]
        if len(prefixes) == 0:
            break
        if best_score > score(log_probs.max().item(), length):
            break  # a log-probability can only fall
    return best, best_score
