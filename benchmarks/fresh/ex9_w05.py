# exercise: 9
# task: tiles
# kind: wrong
# mistake: the number of the last tile of keys that a tile of queries sees is rounded towards zero (as in C) and not down, so a tile of queries that sees no key at all gets the tile 0 of keys as "edge"
# shows: only with causal=True and T > S, for a tile of queries whose last query is at a position from -block_k + 1 to -1
def tiles(T: int, S: int, block_q: int, block_k: int, causal: bool) -> list[tuple[int, int, str]]:
    result = []
    n_q = (T + block_q - 1) // block_q
    n_k = (S + block_k - 1) // block_k
    for i in range(n_q):
        first = i * block_q + S - T  # the last key that the first query sees
        last = min((i + 1) * block_q, T) - 1 + S - T  # the same for the last query
        stop = int(last / block_k) + 1 if causal else n_k
        for j in range(stop):
            end = min((j + 1) * block_k, S) - 1
            full = not causal or end <= first
            result.append((i, j, "full" if full else "edge"))
    return result
