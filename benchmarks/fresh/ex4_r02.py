# exercise: 4
# task: masked_softmax
# kind: right
# mistake: none; unusual: only the allowed scores are gathered into one flat vector; maxima and sums of the rows are segment reductions (scatter_reduce, index_add), and the weights are scattered back into zeros
# shows: never
def masked_softmax(scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    mask = torch.broadcast_to(mask, scores.shape)
    size = scores.shape[-1]
    work = scores.double()
    where = torch.nonzero(mask.reshape(-1)).squeeze(1)  # flat places of the allowed scores
    row = torch.div(where, max(size, 1), rounding_mode="floor")
    n_rows = scores.numel() // max(size, 1)
    flat = work.reshape(-1).index_select(0, where)
    top = torch.full((n_rows,), -torch.inf, dtype=work.dtype, device=work.device)
    top = top.scatter_reduce(0, row, flat.detach(), reduce="amax")
    e = torch.exp(flat - top[row])
    total = torch.zeros(n_rows, dtype=work.dtype, device=work.device).index_add(0, row, e)
    p = e / total[row]
    result = torch.zeros(scores.numel(), dtype=work.dtype, device=work.device)
    return result.index_put((where,), p).reshape(scores.shape).to(scores.dtype)
