# exercise: 4
# task: causal_mask
# kind: wrong
# mistake: the shift of the diagonal is cut off at 0, so that with more queries than keys the mask is aligned to the top left
# shows: only for T > S, e.g. causal_mask(3, 2), whose first row is to be all False
def causal_mask(T: int, S: int | None = None) -> torch.Tensor:
    if S is None:
        S = T
    past = max(S - T, 0)  # number of keys that are kept from earlier calls
    return torch.ones(T, S, dtype=torch.bool).tril(diagonal=past)
