# exercise: 9
# task: traffic
# kind: wrong
# mistake: the tiled program stores two numbers for each query beside the output, the largest score and the sum, as the first FlashAttention paper does, instead of the one lse
# shows: "stored" is too large by T whenever tiled is true
def traffic(
    T: int, S: int, d: int, dv: int, block_q: int, block_k: int, tiled: bool
) -> dict[str, int]:
    if not tiled:
        loaded = (T + S) * d + T * S + (T * S + S * dv)
        stored = T * S + T * S + T * dv
        return {"loaded": loaded, "stored": stored}
    loaded = stored = 0
    for q0 in range(0, T, block_q):
        rows = min(block_q, T - q0)
        loaded += rows * d
        for k0 in range(0, S, block_k):
            loaded += min(block_k, S - k0) * (d + dv)
        stored += rows * dv  # output
        stored += rows + rows  # the statistics m and l
    return {"loaded": loaded, "stored": stored}
