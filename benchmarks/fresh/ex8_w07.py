# exercise: 8
# task: rope_frequencies
# kind: wrong
# mistake: the exponent d / (d - 2) of the NTK base is an integer division, so it is 1 for every d above 4
# shows: only with method "ntk", d >= 6 and factor > 1 (the small case with d = 4 is right)
def rope_frequencies(
    d: int, base: float, factor: float, original_length: int, method: str
) -> torch.Tensor:
    pairs = torch.arange(0, d, 2, dtype=torch.float64)
    theta = base ** (-pairs / d)
    if method == "linear":
        return theta / factor
    if method == "ntk":
        return (base * factor ** (d // (d - 2))) ** (-pairs / d)
    if method == "yarn":
        turns = original_length * theta / (2 * math.pi)
        gamma = ((turns - 1) / 31).clamp(0, 1)
        return (1 - gamma) * theta / factor + gamma * theta
    raise ValueError(f"unknown method {method!r}")
