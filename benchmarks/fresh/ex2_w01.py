# exercise: 2
# task: softmax
# kind: wrong
# mistake: the maximum is subtracted in the integer type of the input, where x - max wraps around for unsigned and small integers
# shows: for x of an unsigned type, or int8/int16/int32 with a wide range (float and ordinary int64 inputs are right)
def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    shifted = x - x.max(axis=axis, keepdims=True)
    e = np.exp(shifted, dtype=None if np.issubdtype(x.dtype, np.floating) else np.float64)
    return e / e.sum(axis=axis, keepdims=True)
