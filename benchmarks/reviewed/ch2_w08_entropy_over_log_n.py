# exercise: 2
# task: score_statistics
# kind: wrong
# mistake: the entropy is divided by the logarithm of the number of keys, so that it runs from 0 to 1; nats are asked for
# shows: in "entropy", for every number of keys (with a single key it is NaN)
# review: not named, numbers only
def score_statistics(query: np.ndarray, key: np.ndarray, scale: float) -> dict[str, float]:
    scores = scale * (query @ key.T)
    weights = softmax(scores)
    log_weights = np.log(np.where(weights > 0, weights, 1))
    entropy = -(weights * log_weights).sum(axis=-1) / np.log(len(key))
    return {
        "variance": float(scores.var()),
        "max_weight": float(weights.max(axis=-1).mean()),
        "entropy": float(entropy.mean()),
    }
