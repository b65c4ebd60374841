# exercise: 2
# task: softmax
# kind: right
# mistake: none; unusual: p_i = 1 / sum_j exp(x_j - x_i), from all pairs, without any maximum (an overflow to inf gives the right 0)
# shows: never
def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    x = np.asarray(x)
    out_type = x.dtype if np.issubdtype(x.dtype, np.floating) else np.float64
    last = np.moveaxis(x, axis, -1).astype(np.float64)
    with np.errstate(over="ignore"):
        total = np.exp(last[..., None, :] - last[..., :, None]).sum(axis=-1)
    return np.moveaxis(1.0 / total, -1, axis).astype(out_type)
