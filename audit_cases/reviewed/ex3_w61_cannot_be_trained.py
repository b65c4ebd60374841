# exercise: ch3_multi_head
# task: to_torch
# kind: wrong
# mistake: the copy's parameters take no gradients
# shows: requires_grad of PyTorch's parameters
def to_torch(mha: MultiHeadAttention) -> nn.MultiheadAttention:
    bias = mha.w_q.bias is not None
    theirs = nn.MultiheadAttention(
        mha.w_q.weight.shape[0], mha.n_heads, bias=bias, batch_first=True, dtype=mha.w_q.weight.dtype
    )
    layers = mha.w_q, mha.w_k, mha.w_v
    theirs.in_proj_weight.data = torch.cat([layer.weight.detach() for layer in layers])
    theirs.out_proj.load_state_dict(mha.w_o.state_dict())
    if bias:
        theirs.in_proj_bias.data = torch.cat([layer.bias.detach() for layer in layers])
    return theirs.requires_grad_(False)
