# exercise: 8
# task: latent_attention
# kind: wrong
# mistake: heads and queries are folded into one axis in the order (T, H), but the mask is folded in the order (H, T)
# shows: only with a mask that differs between queries or heads, when H > 1 and T > 1 (no mask, or a mask over keys only, is right)
def latent_attention(
    query: torch.Tensor,
    rope_query: torch.Tensor,
    latent: torch.Tensor,
    rope_key: torch.Tensor,
    w_uk: torch.Tensor,
    w_uv: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    B, H, T, dn = query.shape
    S = latent.shape[1]
    scale = (dn + rope_query.shape[-1]) ** -0.5
    # all heads share the same keys, so they are just more queries: (B, T * H, ...)
    packed = torch.einsum("bhtn,hnr->bthr", query, w_uk).reshape(B, T * H, -1)
    rotated = rope_query.transpose(1, 2).reshape(B, T * H, -1)
    scores = (packed @ latent.transpose(1, 2) + rotated @ rope_key.transpose(1, 2)) * scale
    if mask is not None:
        allowed = mask.expand(B, H, T, S).reshape(B, H * T, S)
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * allowed
    mixed = (weights @ latent).reshape(B, T, H, -1)
    return torch.einsum("bthr,hvr->bhtv", mixed, w_uv)
