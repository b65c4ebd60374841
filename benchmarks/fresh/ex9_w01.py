# exercise: 9
# task: merge
# kind: wrong
# mistake: empty parts are looked for in the whole tensor (isneginf(lse).all()), not query by query, so a single query that is empty in both parts gets NaN
# shows: only where some queries, but not all, have lse minus infinity in both parts
def merge(
    a: tuple[torch.Tensor, torch.Tensor], b: tuple[torch.Tensor, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    out_a, lse_a = a
    out_b, lse_b = b
    # nothing to merge
    if torch.isneginf(lse_b).all():
        return out_a.clone(), lse_a.clone()
    if torch.isneginf(lse_a).all():
        return out_b.clone(), lse_b.clone()
    top = torch.maximum(lse_a, lse_b)
    w_a = torch.exp(lse_a - top)
    w_b = torch.exp(lse_b - top)
    total = w_a + w_b
    output = (w_a / total).unsqueeze(-1) * out_a + (w_b / total).unsqueeze(-1) * out_b
    return output, top + torch.log(total)
