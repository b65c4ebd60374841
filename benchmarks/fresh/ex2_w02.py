# exercise: 2
# task: attention_numpy
# kind: wrong
# mistake: the row maximum is taken over all keys, masked ones included, and the mask is applied after exp
# shows: when a masked score lies more than about 745 above every allowed one of its row: all weights underflow and the row is treated like an empty one
def attention_numpy(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    d_k = query.shape[-1]
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) / np.sqrt(d_k)
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    if mask is not None:
        e = e * mask
    total = np.sum(e, axis=-1, keepdims=True)
    weights = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    return np.matmul(weights, value), weights
