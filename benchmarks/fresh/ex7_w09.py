# exercise: 7
# task: beam_search
# kind: wrong
# mistake: the beam is refilled: out of the 2 * beam best continuations the beam best that do not end in EOS stay open, beside the finished ones (as fairseq and Hugging Face do)
# shows: where a continuation among the beam best ends in EOS: the search goes on with more open prefixes than it should, and may find a better sentence
def beam_search(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    beam: int,
    max_len: int,
    alpha: float,
) -> tuple[torch.Tensor, float]:
    open_ids = torch.full((1, 1), bos)
    open_lp = None
    finished = []  # (score, ids)
    for length in range(1, max_len + 1):
        lp = step_fn(open_ids)
        if open_lp is not None:
            lp = lp + open_lp[:, None]
        V = lp.shape[-1]
        # twice as many candidates: even if beam of them end, beam stay open
        top, where = lp.reshape(-1).topk(min(2 * beam, lp.numel()))
        ids = torch.cat([open_ids[where // V], (where % V)[:, None]], dim=1)
        ends = ids[:, -1] == eos
        penalty = ((5 + length) / 6) ** alpha
        for rank in range(min(beam, len(top))):
            if ends[rank]:
                finished.append((top[rank].item() / penalty, ids[rank, 1:]))
        open_ids, open_lp = ids[~ends][:beam], top[~ends][:beam]
        if len(open_ids) == 0:
            break
    for value, row in zip(open_lp.tolist(), open_ids):
        finished.append((value / penalty, row[1:]))
    score, best = max(finished, key=lambda pair: pair[0])
    return best, score
