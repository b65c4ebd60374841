# exercise: 2
# task: attention_numpy
# kind: wrong
# mistake: the query is scaled in place, so that the caller's array is changed
# shows: in the argument after the call (and in a second call with the same query); the returned values are right
def attention_numpy(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    query /= np.sqrt(query.shape[-1])  # scale the smaller matrix, not the scores
    scores = query @ key.swapaxes(-1, -2)
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    e = np.exp(scores - top)
    total = e.sum(axis=-1, keepdims=True)
    weights = e / np.where(total == 0, 1, total)
    return weights @ value, weights
