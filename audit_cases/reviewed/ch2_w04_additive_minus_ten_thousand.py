# exercise: ch2_scaled_dot_product
# task: attention_numpy
# kind: wrong
# mistake: BERT's additive mask: -10000 is added to a masked score, which is not replaced
# shows: only where a masked score is larger than an allowed one by several thousand: an allowed score of -9000 beside a masked one of 8000 gives weight 1 to the masked key
# named: ten thousand taken off masked scores, which then win
def attention_numpy(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    scores = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + (1.0 - mask) * -10000.0
    weights = softmax(scores)
    if mask is not None:
        weights = np.where(mask.any(axis=-1, keepdims=True), weights, 0.0)
    return weights @ value, weights
