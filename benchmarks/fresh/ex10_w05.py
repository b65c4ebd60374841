# exercise: 10
# task: restored
# kind: wrong
# mistake: logits[:, right] takes the right answers of all texts in each text, so the mean runs over all pairs of a text and an answer instead of each text's own answer
# shows: only with more than one text, when their answers differ
def restored(
    clean: torch.Tensor,
    corrupted: torch.Tensor,
    patched: torch.Tensor,
    right: torch.Tensor,
    wrong: torch.Tensor,
) -> float:
    def difference(logits):
        return (logits[:, right] - logits[:, wrong]).mean()

    low, high, now = difference(corrupted), difference(clean), difference(patched)
    if high == low:
        raise ValueError("the clean and the corrupted run have the same difference")
    return ((now - low) / (high - low)).item()
