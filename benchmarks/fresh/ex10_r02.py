# exercise: 10
# task: patch
# kind: right
# mistake: one trace of both texts behind each other in one batch; a one-hot row mixes what the head adds in the two halves, and the function in replace ignores its argument
# shows: never
def patch(
    run: AttentionOnly,
    clean: torch.Tensor,
    corrupted: torch.Tensor,
    layer: int,
    head: int,
    position: int,
) -> torch.Tensor:
    n, T = corrupted.shape
    # nothing before this head changes, so it adds in the patched run what it adds without the patch
    added = run.trace(torch.cat([clean, corrupted])).added.select(0, layer).select(1, head)
    from_clean, from_corrupted = added.split([n, n])
    here = torch.arange(T, device=corrupted.device).eq(position)[None, :, None]
    mixture = torch.where(here, from_clean, from_corrupted)
    return run(corrupted, replace={(layer, head): lambda _: mixture})
