# exercise: 2
# task: attention_jacobian
# kind: wrong
# mistake: the covariance comes from np.cov with aweights=p and its default normalisation, which divides by 1 - sum p^2 (unbiased) instead of by 1
# shows: for every input: twice the right matrix in the small case, far off (or NaN) where one weight is nearly 1, NaN for S = 1
def attention_jacobian(query: np.ndarray, key: np.ndarray) -> np.ndarray:
    d = query.shape[0]
    scores = key @ query / np.sqrt(d)
    p = np.exp(scores - scores.max())
    p /= p.sum()
    covariance = np.cov(key, rowvar=False, aweights=p)
    return covariance / np.sqrt(d)
