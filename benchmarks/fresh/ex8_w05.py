# exercise: 8
# task: cache_bytes
# kind: wrong
# mistake: the window is applied to all tokens of the batch together instead of to the tokens of each text
# shows: only with a window and batch > 1, when batch * n_tokens > window
def cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    n_tokens: int,
    *,
    batch: int = 1,
    bytes_per_value: int = 2,
    window: int | None = None,
    latent: int | None = None,
) -> int:
    held = batch * n_tokens
    if window is not None:
        held = min(held, window)
    per_token = 2 * n_kv_heads * d_head if latent is None else latent
    return n_layers * held * per_token * bytes_per_value
