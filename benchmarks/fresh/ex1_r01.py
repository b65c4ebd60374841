# exercise: 1
# task: attend
# kind: right
# mistake: none; unusual: loops over the examples and computes only with the allowed positions (boolean indexing), as a running ("online") softmax over the positions
# shows: never
def attend(
    scores: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    n_examples, n_source = scores.shape
    dtype = np.result_type(scores.dtype, value.dtype)
    if not np.issubdtype(dtype, np.floating):
        dtype = np.float64
    weights = np.zeros((n_examples, n_source), dtype=dtype)
    context = np.zeros((n_examples, value.shape[2]), dtype=dtype)
    for b in range(n_examples):
        allowed = range(n_source) if mask is None else np.flatnonzero(mask[b])
        top, total = None, 0.0
        mean = np.zeros(value.shape[2], dtype=dtype)
        for s in allowed:
            score = scores[b, s].astype(dtype)
            if top is None:
                top = score
            elif score > top:
                shrink = np.exp(top - score)
                total, mean, top = total * shrink, mean * shrink, score
            w = np.exp(score - top)
            total = total + w
            mean = mean + w * value[b, s]
        context[b] = mean / total
        for s in allowed:
            weights[b, s] = np.exp(scores[b, s].astype(dtype) - top) / total
    return context, weights
