# exercise: 3
# task: head_contribution
# kind: wrong
# mistake: the scores are divided by the root of D, the width of the model, not by the root of d, the width of a head
# shows: wherever there is more than one head: the weights are too even, and the terms of all heads and the bias don't add up to the layer's output
# review: not named, numbers only
def head_contribution(
    mha: MultiHeadAttention,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head: int,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    q = split_heads(mha.w_q(query), mha.n_heads)
    k = split_heads(mha.w_k(key), mha.n_heads)
    v = split_heads(mha.w_v(value), mha.n_heads)
    d_model, d_head = query.shape[-1], q.shape[-1]
    # attention divides by the root of d_head, the layer has the width d_model
    q = q * (d_head / d_model) ** 0.5
    outputs, _ = mha.attention(q, k, v, mask)
    part = mha.w_o.weight[:, head * d_head : (head + 1) * d_head]
    return outputs[:, head] @ part.T
