# exercise: ch9_flash_attention
# task: paged_attention
# kind: wrong
# mistake: lengths // page + 1 pages are read instead of the length divided by page and rounded up, so one table entry too many is used where the length is a multiple of the page size
# shows: only for a length (0 included) that is a multiple of page, if the next entry of the table is larger than any page: IndexError
def paged_attention(
    query: torch.Tensor,
    key_pages: torch.Tensor,
    value_pages: torch.Tensor,
    table: torch.Tensor,
    lengths: torch.Tensor,
) -> torch.Tensor:
    B, H, d = query.shape
    page = key_pages.shape[2]
    output = query.new_zeros(B, H, value_pages.shape[-1])
    for b in range(B):
        length = int(lengths[b])
        used = table[b, : length // page + 1]
        # (n, H, page, d) -> (H, n * page, d), without the slots behind the end
        keys = key_pages[used].transpose(0, 1).flatten(1, 2)[:, :length]
        values = value_pages[used].transpose(0, 1).flatten(1, 2)[:, :length]
        scores = (keys @ query[b].unsqueeze(-1)).squeeze(-1) / d**0.5  # (H, length)
        weights = torch.softmax(scores, dim=-1)
        output[b] = (weights.unsqueeze(1) @ values).squeeze(1)
    return output
