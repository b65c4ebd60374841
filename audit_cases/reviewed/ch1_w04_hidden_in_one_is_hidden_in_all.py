# exercise: ch1_additive_attention
# task: attend
# kind: wrong
# mistake: a position that is hidden in one example is hidden in all of them, unless nothing would be left
# shows: only where the examples have different masks and some position is True in all of them; random masks seldom have one, and then the answer is right
def attend(
    scores: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    if mask is not None:
        common = mask.all(axis=0)
        if common.any():
            mask = np.broadcast_to(common, scores.shape)
        scores = np.where(mask, scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    context = np.einsum("bs,bsd->bd", weights, value)
    return context, weights
