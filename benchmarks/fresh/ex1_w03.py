# exercise: 1
# task: attend
# kind: wrong
# mistake: the number that is subtracted before exp is the maximum of the whole batch, not of each example
# shows: an example whose scores all lie more than about 745 below the largest of the batch gets 0 / 0 = NaN
def attend(
    scores: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    e = np.exp(scores - np.max(scores))
    weights = e / e.sum(axis=1, keepdims=True)
    context = (weights[:, :, None] * value).sum(axis=1)
    return context, weights
