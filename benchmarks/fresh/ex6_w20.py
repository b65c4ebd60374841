# exercise: 6
# task: shift
# kind: wrong
# mistake: the results are made by torch.zeros and so are floats, not token numbers
# shows: always: the data type is float32, and nn.Embedding or cross_entropy refuse it
def shift(target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    B, length = target.shape
    target_in = torch.zeros(B, length - 1)
    target_out = torch.zeros(B, length - 1)
    for t in range(length - 1):
        target_in[:, t] = target[:, t]
        target_out[:, t] = target[:, t + 1]
    return target_in, target_out
