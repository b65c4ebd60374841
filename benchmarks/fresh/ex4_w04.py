# exercise: 4
# task: masked_softmax
# kind: wrong
# mistake: the division by zero in empty rows is avoided by adding 1e-9 to the sum, which is rounded to 0 in float16
# shows: only for float16 scores with an empty row: NaN there (float32 and float64 are right to more than six digits)
def masked_softmax(scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    if mask is None:
        return torch.softmax(scores, dim=-1)
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    top = filled.amax(dim=-1, keepdim=True).detach()
    e = torch.exp(filled - top).masked_fill(~mask, 0.0)
    return e / (e.sum(dim=-1, keepdim=True) + 1e-9)
