# exercise: 4
# task: padding_mask
# kind: wrong
# mistake: the filling is blanked out with a negative slice [length - max_len:], which is [0:] for an example without filling
# shows: an example whose length equals max_len comes out all False
def padding_mask(lengths: torch.Tensor, max_len: int) -> torch.Tensor:
    mask = torch.ones(len(lengths), 1, 1, max_len, dtype=torch.bool)
    for b, length in enumerate(lengths.tolist()):
        mask[b, 0, 0, length - max_len :] = False
    return mask
