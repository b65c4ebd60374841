# exercise: 1
# task: attend
# kind: wrong
# mistake: padding is masked by adding -10000 to its scores, as in older BERT code, which is neither exact nor enough for large scores
# shows: when a masked score is about 1e4 or more above the allowed ones: the padding then gets weight (all of it, where it is much more)
def attend(
    scores: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    if mask is not None:
        extended = (1.0 - mask.astype(scores.dtype)) * -10000.0
        scores = scores + extended
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    context = np.einsum("bs,bsd->bd", weights, value)
    return context, weights
