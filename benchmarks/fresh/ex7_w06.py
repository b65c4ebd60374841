# exercise: 7
# task: greedy_decode
# kind: wrong
# mistake: stops only when all rows write EOS in the same step; nobody remembers who ended earlier when it decides to stop
# shows: where the rows end at different lengths: the result is max_len wide, filled up with pad
def greedy_decode(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    max_len: int,
    batch: int,
    pad: int,
) -> torch.Tensor:
    prefix = torch.full((batch, 1), bos)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_len):
        token = step_fn(prefix).argmax(dim=-1).masked_fill(ended, pad)
        prefix = torch.cat([prefix, token[:, None]], dim=1)
        ended = ended | (token == eos)
        if (token == eos).all():
            break
    return prefix[:, 1:]
