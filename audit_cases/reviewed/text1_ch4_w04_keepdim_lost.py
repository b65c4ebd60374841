# exercise: ch4_masking
# task: masked_softmax
# kind: wrong
# mistake: the rows with nothing to attend to are found by all(dim=-1) without keepdim, so that their tensor (..., T) is laid against the last axis of the weights, the keys, not against the queries
# shows: a RuntimeError at masked_fill where the sizes don't fit; where T equals S it raises nothing and, if a row is empty, the weights of a key are emptied in place of those of a query
def masked_softmax(scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    if mask is None:
        return torch.softmax(scores, dim=-1)
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(scores.masked_fill(~mask, lowest), dim=-1)
    nothing = (~mask).all(dim=-1)  # queries that may attend to nothing
    return weights.masked_fill(nothing, 0.0)
