# exercise: 8
# task: token_probabilities
# kind: wrong
# mistake: logits in float16 or bfloat16 are divided by the temperature in half precision, and converted to float32 only for the softmax
# shows: only for half-precision logits with a temperature that is no power of two (errors in the third digit; NaN where the quotient leaves the range of float16)
def token_probabilities(
    logits: torch.Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> torch.Tensor:
    if temperature < 0:
        raise ValueError("temperature < 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k < 1")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError("top_p outside of (0, 1]")
    out_dtype = logits.dtype if logits.dtype in (torch.float32, torch.float64) else torch.float32

    ranked, order = torch.sort(logits, dim=-1, descending=True, stable=True)
    if temperature == 0:
        probs = torch.zeros(logits.shape, dtype=out_dtype)
        return probs.scatter(-1, order[..., :1], 1.0)

    probs = torch.softmax(ranked / temperature, dim=-1, dtype=out_dtype)
    if top_k is not None:
        probs[..., top_k:] = 0
        probs = probs / probs.sum(dim=-1, keepdim=True)
    if top_p is not None and top_p < 1:
        cumulative = probs.cumsum(dim=-1)
        remove = cumulative >= top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        probs = probs.masked_fill(remove, 0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, probs)
