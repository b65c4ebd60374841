# exercise: 4
# task: combine
# kind: wrong
# mistake: the votes of the masks are summed without the Nones, but compared with the number of all arguments, Nones included
# shows: when there is a None beside at least one mask: the result is all False
def combine(*masks: torch.Tensor | None) -> torch.Tensor | None:
    votes = None
    for mask in masks:
        if mask is not None:
            votes = mask.int() if votes is None else votes + mask.int()
    if votes is None:
        return None
    return votes == len(masks)
