# exercise: 2
# task: softmax
# kind: wrong
# mistake: a small number, 1e-4, is added to the denominator, for fear of a division by zero
# shows: everywhere, in the fourth or fifth digit: the rows sum to a little less than 1
# review: not named, still explained: "right to 3 digits only: is something rounded, or computed in half precision, or a small number added?" (best text 5). Its numbers, expected 0.1609, got 0.160966, are too large for an eps in the denominator: see ch2_w01_computed_in_float32
def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-4)
