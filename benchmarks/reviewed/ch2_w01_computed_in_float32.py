# exercise: 2
# task: softmax
# kind: wrong
# mistake: the numbers are converted to float32 before anything is computed, and the result back to float64
# shows: everywhere, in the seventh digit; for numbers around 10000, whose neighbours in float32 lie 0.001 apart, in the fourth
# review: not named, still explained: "in around 10000: right to 3 digits only: is something rounded, or computed in half precision, or a small number added?; 46 of 56 entries differ, first at index [0, 0]: expected 0.1609, got 0.160966" (4.7, best text 5)
def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    x = np.asarray(x, dtype=np.float32)
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return (exponentials / exponentials.sum(axis=axis, keepdims=True)).astype(np.float64)
