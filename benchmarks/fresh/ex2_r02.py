# exercise: 2
# task: attention_jacobian
# kind: right
# mistake: none; unusual: the covariance as half the weighted sum over all pairs of keys, 1/2 sum_st p_s p_t (k_s - k_t)(k_s - k_t)^T, without the mean o
# shows: never
def attention_jacobian(query: np.ndarray, key: np.ndarray) -> np.ndarray:
    S, d = key.shape
    root = d**0.5
    scores = np.array([float(np.vdot(k, query)) / root for k in key])
    p = np.array([1.0 / np.exp(np.minimum(scores - s, 700.0)).sum() for s in scores])
    jacobian = np.zeros((d, d))
    for s in range(S):
        for t in range(s):
            gap = key[s].astype(float) - key[t]
            jacobian += p[s] * p[t] * np.outer(gap, gap)
    return (jacobian / root).astype(np.result_type(query, key, np.float32))
