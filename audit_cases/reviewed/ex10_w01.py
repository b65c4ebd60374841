# exercise: ch10_circuits
# task: prefix_matching
# kind: wrong
# mistake: a position is taken to count if its score is above 0, so positions whose token occurred before, but to whose places a head gives exactly no weight, are left out of the mean of that head
# shows: only if a head gives weight exactly 0 to all places of a position that counts (sparse or one-hot weights)
def prefix_matching(weights: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    T = len(tokens)
    same = (tokens[:, None] == tokens[None, :]).tril(-1)  # [q, p]: p < q, same token
    target = torch.zeros(T, T, dtype=torch.bool)
    target[:, 1:] = same[:, :-1]  # the place is p + 1
    score = (weights * target).sum(dim=-1)  # (H, T)
    hit = score > 0
    return score.sum(dim=-1) / hit.sum(dim=-1).clamp(min=1)
