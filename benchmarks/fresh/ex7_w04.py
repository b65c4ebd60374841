# exercise: 7
# task: noam_rate
# kind: wrong
# mistake: a step of 0 (or below) is taken for step 1, as in the Annotated Transformer, and no ValueError is raised
# shows: only for step < 1
def noam_rate(step: int, d_model: int, warmup: int) -> float:
    if step < 1:
        step = 1  # avoid 0 ** -0.5
    return d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))
