# exercise: 7
# task: noam_rate
# kind: wrong
# mistake: the peak is d_model^-0.5 (the schedule of a base rate times step / warmup, then sqrt(warmup / step)), not (d_model * warmup)^-0.5
# shows: for every warmup > 1: the rate is too large by the factor sqrt(warmup)
def noam_rate(step: int, d_model: int, warmup: int) -> float:
    if step < 1:
        raise ValueError(f"step must be at least 1, got {step}")
    peak = 1 / math.sqrt(d_model)
    if step < warmup:
        return peak * step / warmup
    return peak * math.sqrt(warmup / step)
