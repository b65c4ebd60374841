# exercise: 10
# task: prefix_matching
# kind: right
# mistake: one walk through the text with a dictionary from a token to the places after it; no T x T comparison
# shows: never
def prefix_matching(weights: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    places = {}  # token -> the positions after its occurrences so far
    total = torch.zeros(weights.shape[0], dtype=weights.dtype, device=weights.device)
    counted = 0
    for q, token in enumerate(tokens.tolist()):
        earlier = places.setdefault(token, [])
        if earlier:
            counted += 1
            total = total + weights[:, q, earlier].sum(dim=1)
        earlier.append(q + 1)
    return total / max(counted, 1)
