# exercise: ch3_multi_head
# task: merge_heads
# kind: wrong
# mistake: the head's axis goes behind the features, so that feature 0 of all heads comes first, then feature 1 of all heads, and so on
# shows: wherever there are at least two heads and d is at least 2; the shape is right
# named: interleaved on the way back
def merge_heads(x: torch.Tensor) -> torch.Tensor:
    batch, n_heads, length, d_head = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, length, n_heads * d_head)
