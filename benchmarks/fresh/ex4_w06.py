# exercise: 4
# task: from_key_padding
# kind: wrong
# mistake: the mask is turned into lengths and those into a padding mask, so that all ignored keys are moved to the end
# shows: when an ignored key stands in front of one that is not ignored (padding at the left, or holes)
def from_key_padding(mask: torch.Tensor) -> torch.Tensor:
    lengths = (~mask).sum(dim=1)
    positions = torch.arange(mask.shape[1], device=mask.device)
    return (positions < lengths[:, None])[:, None, None, :]
