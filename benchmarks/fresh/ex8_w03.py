# exercise: 8
# task: window_mask
# kind: wrong
# mistake: the begin of the window, p - window + 1, is used in a slice without being cut off at 0, so a negative begin counts from the end of the row
# shows: only in rows where the window reaches beyond the beginning of the text (p < window - 1): they lose their own position and others
def window_mask(T: int, S: int, window: int, sinks: int = 0) -> torch.Tensor:
    if T > S:
        raise ValueError("more queries than keys")
    if window < 1:
        raise ValueError("window must be at least 1")
    if sinks < 0:
        raise ValueError("sinks must not be negative")
    mask = torch.zeros(T, S, dtype=torch.bool)
    for t in range(T):
        p = S - T + t
        mask[t, p - window + 1 : p + 1] = True
        mask[t, : min(sinks, p + 1)] = True
    return mask
