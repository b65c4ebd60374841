# exercise: 4
# task: additive
# kind: wrong
# mistake: the smallest finite number of the data type stands in for minus infinity, as in Hugging Face's extended masks
# shows: every False entry is finite, for every mask with a False
def additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return (1.0 - mask.to(dtype)) * torch.finfo(dtype).min
