# exercise: 8
# task: token_probabilities
# kind: wrong
# mistake: the nucleus is taken from the distribution before top_k: the sums of top_p run over the probabilities of all tokens, and then both sets are cut with each other
# shows: only when top_k and top_p are both given, and the tokens that top_k removes have enough weight to make the nucleus longer
def token_probabilities(
    logits: torch.Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> torch.Tensor:
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be in (0, 1]")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    order = torch.sort(logits, dim=-1, descending=True, stable=True).indices
    place = torch.argsort(order, dim=-1)  # 0 for the most likely token
    if temperature == 0:
        return (place == 0).to(logits.dtype)
    # the largest logit first becomes 0: no overflow for small temperatures
    logits = (logits - logits.amax(dim=-1, keepdim=True)) / temperature
    probabilities = torch.softmax(logits, dim=-1)
    keep = torch.ones_like(probabilities, dtype=torch.bool)
    if top_k is not None:
        keep &= place < top_k
    if top_p is not None and top_p < 1:
        ranked = probabilities.gather(-1, order)
        before = torch.cumsum(ranked, dim=-1) - ranked
        keep &= (before < top_p).gather(-1, place)
    probabilities = torch.where(keep, probabilities, 0.0)
    return probabilities / probabilities.sum(dim=-1, keepdim=True)
