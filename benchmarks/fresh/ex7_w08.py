# exercise: 7
# task: greedy_decode
# kind: wrong
# mistake: max_len is taken as the width of the prefix with BOS, so that one token less is written
# shows: where some row has not ended after max_len - 1 tokens; with max_len = 1 the result is empty
def greedy_decode(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    max_len: int,
    batch: int,
    pad: int,
) -> torch.Tensor:
    ids = torch.full((batch, 1), bos, dtype=torch.long)
    unfinished = torch.ones(batch, dtype=torch.long)
    while ids.shape[1] < max_len and unfinished.any():
        token = step_fn(ids).argmax(dim=-1)
        token = token * unfinished + pad * (1 - unfinished)
        ids = torch.cat((ids, token.unsqueeze(1)), dim=1)
        unfinished = unfinished * (token != eos).long()
    return ids[:, 1:]
