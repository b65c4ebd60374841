# exercise: 8
# task: token_probabilities
# kind: right
# mistake: nothing is sorted: a V x V matrix says which token comes before which, its row sums are the ranks, and its product with the probabilities is the sum before each token
# shows: never
def _comes_before(logits):
    """[..., v, w]: token w counts as more likely than token v."""
    mine, other = logits.unsqueeze(-1), logits.unsqueeze(-2)
    number = torch.arange(logits.shape[-1], device=logits.device)
    smaller = number < number.unsqueeze(-1)
    return (other > mine) | ((other == mine) & smaller)


def token_probabilities(
    logits: torch.Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> torch.Tensor:
    if not temperature >= 0:
        raise ValueError("temperature")
    if not (top_k is None or top_k >= 1):
        raise ValueError("top_k")
    if not (top_p is None or 0 < top_p <= 1):
        raise ValueError("top_p")
    x = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
    before = _comes_before(x)
    rank = before.sum(dim=-1)
    if temperature == 0:
        return rank.eq(0).to(x.dtype)
    shifted = x - x.max(dim=-1, keepdim=True).values
    weight = torch.exp(shifted / temperature)  # 1 for the most likely token
    if top_k is not None:
        weight = weight * rank.lt(top_k)
    share = weight / weight.sum(dim=-1, keepdim=True)
    if top_p is not None and top_p != 1:
        sum_before = (before.to(x.dtype) @ share.unsqueeze(-1)).squeeze(-1)
        share = share * ((sum_before < top_p) | rank.eq(0))
        share = share / share.sum(dim=-1, keepdim=True)
    return share
