# exercise: ch10_circuits
# task: mean_ablated
# kind: wrong
# mistake: the mean over the reference texts is kept from call to call under (model, layer, head), so another reference gets the mean of the first one
# shows: only from the second call on, with the same model and head and another reference
_means = {}


def mean_ablated(
    run: AttentionOnly, tokens: torch.Tensor, layer: int, head: int, reference: torch.Tensor
) -> torch.Tensor:
    # the traces are the slow part: compute the mean of a head only once
    name = id(run), layer, head, tokens.shape[1]
    if name not in _means:
        added = run.trace(reference).added[layer, :, head]  # (R, T, D)
        _means[name] = run, added.mean(dim=0)
    _, mean = _means[name]
    return run(tokens, replace={(layer, head): lambda added: mean.expand_as(added)})
