# exercise: 3
# task: merge_heads
# kind: wrong
# mistake: view after transpose without contiguous(): works only where the input is itself the transposed view that split_heads returns
# shows: a RuntimeError for most other memory layouts, e.g. a contiguous x with H > 1 and T > 1, such as the output of an attention
def merge_heads(x: torch.Tensor) -> torch.Tensor:
    B, H, T, d = x.shape
    return x.transpose(1, 2).view(B, T, H * d)
