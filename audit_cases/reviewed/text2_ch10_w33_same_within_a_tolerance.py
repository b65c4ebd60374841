# exercise: ch10_circuits
# task: restored
# kind: wrong
# mistake: the ValueError is raised wherever the differences of the clean and the corrupted run are close, within a tolerance of 1 %, not only where they are equal
# shows: where the two differences are nearly the same: a ValueError, where a number is asked for
import math


def restored(
    clean: torch.Tensor,
    corrupted: torch.Tensor,
    patched: torch.Tensor,
    right: torch.Tensor,
    wrong: torch.Tensor,
) -> float:
    texts = torch.arange(len(right))

    def difference(logits: torch.Tensor) -> float:
        return (logits[texts, right] - logits[texts, wrong]).mean().item()

    low, high = difference(corrupted), difference(clean)
    if math.isclose(low, high, rel_tol=1e-2):
        raise ValueError("clean and corrupted run have the same difference")
    return (difference(patched) - low) / (high - low)
