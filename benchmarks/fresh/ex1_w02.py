# exercise: 1
# task: additive_scores
# kind: wrong
# mistake: W_q Q^T has the shape (A, B) and is reshaped to (B, 1, A) instead of transposed, so that the projected queries are scrambled over the batch
# shows: the values differ as soon as B > 1 and A > 1; right for B = 1 or A = 1
def additive_scores(
    query: np.ndarray, key: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, v: np.ndarray
) -> np.ndarray:
    B = query.shape[0]
    A = w_q.shape[0]
    q = np.dot(w_q, query.T).reshape(B, 1, A)
    k = np.dot(key, w_k.T)  # (B, S, A)
    return np.dot(np.tanh(q + k), v)
