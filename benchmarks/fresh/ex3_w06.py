# exercise: 3
# task: head_contribution
# kind: wrong
# mistake: the term is computed by a deep copy of the layer, so that no gradient reaches the parameters of mha itself
# shows: after backward() the grads of mha's own weights are None (those of query, key and value are right); the values are right
import copy


def head_contribution(
    mha: MultiHeadAttention,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head: int,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    pruned = copy.deepcopy(mha)  # mha is to be left as it is
    d = pruned.w_o.weight.shape[1] // pruned.n_heads
    with torch.no_grad():
        pruned.w_o.weight[:, : head * d] = 0
        pruned.w_o.weight[:, (head + 1) * d :] = 0
        if pruned.w_o.bias is not None:
            pruned.w_o.bias.zero_()
    return pruned(query, key, value, mask)[0]
