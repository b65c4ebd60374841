# exercise: 2
# task: score_statistics
# kind: wrong
# mistake: the variance is taken in each query's row of scores and averaged, so that the spread between the rows' means is missing; asked is the variance of all m * n scores
# shows: with m > 1 and rows of different means; right for a single query
def score_statistics(query: np.ndarray, key: np.ndarray, scale: float) -> dict[str, float]:
    scores = scale * (query @ key.T)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    logs = np.log(np.where(p > 0, p, 1.0))
    return {
        "variance": float(scores.var(axis=1).mean()),
        "max_weight": float(p.max(axis=1).mean()),
        "entropy": float(-(p * logs).sum(axis=1).mean()),
    }
