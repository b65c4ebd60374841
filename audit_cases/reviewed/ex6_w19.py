# exercise: ch6_transformer
# task: shift
# kind: wrong
# mistake: squeeze() removes the batch axis where there is one sentence, and the time axis where T is 1
# shows: only for B = 1 or T = 1: the shape is wrong
def shift(target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    pairs = target.unfold(1, 2, 1)  # (B, T, 2): each token with the next one
    target_in, target_out = pairs.split(1, dim=-1)
    return target_in.squeeze(), target_out.squeeze()
