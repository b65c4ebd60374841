# exercise: 3
# task: to_torch
# kind: wrong
# mistake: out_proj gets the very parameters of w_o instead of copies, so that the two layers share them
# shows: when one layer is changed or trained after the conversion, the other's output projection changes, too; the outputs are right at first
def to_torch(mha: MultiHeadAttention) -> nn.MultiheadAttention:
    weight = mha.w_q.weight
    has_bias = mha.w_q.bias is not None
    layer = nn.MultiheadAttention(
        weight.shape[0], mha.n_heads, bias=has_bias, batch_first=True, dtype=weight.dtype
    )
    with torch.no_grad():
        layer.in_proj_weight.copy_(
            torch.cat([mha.w_q.weight, mha.w_k.weight, mha.w_v.weight])
        )
        if has_bias:
            layer.in_proj_bias.copy_(torch.cat([mha.w_q.bias, mha.w_k.bias, mha.w_v.bias]))
    layer.out_proj.weight = mha.w_o.weight
    if has_bias:
        layer.out_proj.bias = mha.w_o.bias
    return layer
