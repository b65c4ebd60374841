# exercise: ch3_multi_head
# task: head_contribution
# kind: wrong
# mistake: after use the head's columns of w_o are set to zero in the layer itself
# shows: the result is right, but the layer is another one afterwards: asked for the same head again it gives zeros, and its output lacks the head
# named: the layer loses the head
def head_contribution(
    mha: MultiHeadAttention,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head: int,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    outputs, _ = mha.attention(
        split_heads(mha.w_q(query), mha.n_heads),
        split_heads(mha.w_k(key), mha.n_heads),
        split_heads(mha.w_v(value), mha.n_heads),
        mask,
    )
    d_head = outputs.shape[-1]
    columns = slice(head * d_head, (head + 1) * d_head)
    part = mha.w_o.weight[:, columns].clone()
    with torch.no_grad():
        mha.w_o.weight[:, columns] = 0  # without its term the head is gone
    return outputs[:, head] @ part.T
