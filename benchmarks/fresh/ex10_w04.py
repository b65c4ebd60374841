# exercise: 10
# task: patch
# kind: wrong
# mistake: what the head adds in the first clean text is used for all texts of the batch, not each text's own row
# shows: only with more than one text, when the clean texts differ up to position
def patch(
    run: AttentionOnly,
    clean: torch.Tensor,
    corrupted: torch.Tensor,
    layer: int,
    head: int,
    position: int,
) -> torch.Tensor:
    clean_vector = run.trace(clean).added[layer][0][head][position]  # (D,)

    def hook(added):
        added[:, position] = clean_vector
        return added

    return run(corrupted, replace={(layer, head): hook})
