# exercise: 7
# task: beam_search
# kind: right
# mistake: none; the open prefixes are plain tuples in a dictionary with sums of Python floats, continuations come from heapq.nlargest over a generator of all of them, and the finished ones are yielded to max()
# shows: never
import heapq


def beam_search(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    beam: int,
    max_len: int,
    alpha: float,
) -> tuple[torch.Tensor, float]:
    def finished():
        """All finished (sentence, log-probability), in the order in which they end."""
        beams: dict[tuple[int, ...], float] = {(): 0.0}
        while beams:
            table = step_fn(torch.tensor([(bos, *prefix) for prefix in beams])).tolist()
            grown = (
                (total + log_p, (*prefix, token))
                for (prefix, total), row in zip(beams.items(), table)
                for token, log_p in enumerate(row)
            )
            kept = heapq.nlargest(beam, grown)
            ended = [len(s) >= max_len or s[-1] == eos for _, s in kept]
            yield from ((s, total) for (total, s), e in zip(kept, ended) if e)
            beams = {s: total for (total, s), e in zip(kept, ended) if not e}

    def score(item) -> float:
        sentence, total = item
        return total * (6 / (5 + len(sentence))) ** alpha

    winner = max(finished(), key=score)
    return torch.tensor(winner[0]), score(winner)
