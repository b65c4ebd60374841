# exercise: 1
# task: additive_scores
# kind: wrong
# mistake: tanh is written out as (e^2x - 1) / (e^2x + 1), which overflows to inf / inf = NaN for large positive arguments
# shows: when an entry of W_q q + W_k k_i exceeds about 355 (the statement says that the numbers may be large)
def _tanh(x):
    e = np.exp(2 * x)
    return (e - 1) / (e + 1)


def additive_scores(
    query: np.ndarray, key: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, v: np.ndarray
) -> np.ndarray:
    q = query @ w_q.T  # (B, A)
    k = key @ w_k.T  # (B, S, A)
    return _tanh(q[:, None, :] + k) @ v
