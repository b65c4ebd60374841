"""Experiments of pages: each rival under its own best learning rate, and small results that are stored.

The course has the results of long experiments in `book/results/PAGE.json`, so that a page is built in
seconds. A result counts as long as the function's code, what it uses, its arguments, the base of the seeds,
and the minor versions of torch and NumPy are the same; otherwise it is computed.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# what is edited after that may have been imported before
STARTED = time.time()
FEWEST_RATES = 3


@dataclass(frozen=True)
class Best:
    """How a model does under the best of several learning rates.

    rate: the best one; scores: under it, one for each seed that had no part in the choice; mean: of these;
    tried: every rate with its mean under the other seeds.
    """

    rate: float
    scores: list[float]
    mean: float
    tried: dict[float, float]

    def to_json(self) -> dict[str, Any]:
        """Plain data, from which `from_json` makes the same again."""
        tried = [[rate, mean] for rate, mean in self.tried.items()]
        return {"rate": self.rate, "scores": self.scores, "mean": self.mean, "tried": tried}

    @staticmethod
    def from_json(data: dict[str, Any]) -> "Best":
        """The opposite of `to_json`."""
        return Best(data["rate"], data["scores"], data["mean"], dict(map(tuple, data["tried"])))


def best_of(
    train: Callable[[float, int], float],
    rates: Sequence[float],
    seeds: Sequence[int],
    low: bool = False,
) -> Best:
    """Choose a learning rate for one model, and score the model under it.

    Args:
        train: Gives the score of a model that it trains, from a rate and a seed.
        rates: At least three, so that none of the rivals is held back by its rate.
        seeds: The first half, rounded down, chooses the rate by the mean score; the others give the scores
            of the result. At least two.
        low: Whether a lower score is better, as for a loss.

    Raises:
        ValueError: there are too few rates or seeds, or every rate gives scores that aren't finite.
    """
    if len(set(rates)) < FEWEST_RATES or len(set(seeds)) < 2:
        raise ValueError(
            f"best_of needs {FEWEST_RATES} different rates or more and 2 different seeds or more, "
            f"not {list(rates)} and {list(seeds)}"
        )
    half = len(seeds) // 2
    tried = {rate: fmean(float(train(rate, s)) for s in seeds[:half]) for rate in rates}
    # a training that diverges gives no number
    finite = [rate for rate in tried if math.isfinite(tried[rate])]
    if not finite:
        raise ValueError(f"no rate gives finite scores: {tried}")
    rate = (min if low else max)(finite, key=lambda rate: tried[rate])
    scores = [float(train(rate, s)) for s in seeds[half:]]
    return Best(rate, scores, fmean(scores), tried)


def stored(function: Callable[..., Any], *arguments: Any) -> Any:
    """What `function(*arguments)` returns, from the stored results if it is among them.

    Otherwise it is computed, with a line, and kept in `_build`; `python -m autograder experiments` stores
    it.

    Args:
        function: Seeds its own random numbers. It may call functions and classes of the page and of the
            course, and use plain constants of the page. Other data, such as arrays, must be made inside.
        arguments: What JSON can hold.

    Returns:
        The result as JSON holds it: tuples have become lists, keys of dictionaries text. What `best_of`
        has returned is a `Best` again.

    Raises:
        TypeError: JSON can't hold the result or an argument.
    """
    # not above: results that use `best_of` don't depend on how they are stored
    from autograder.publish.experiments import stored_or_computed

    text = stored_or_computed(ROOT, function, arguments, STARTED)
    return json.loads(text, object_hook=_restored)


def _restored(data: dict[str, Any]) -> Any:
    return Best.from_json(data) if data.keys() == Best.__dataclass_fields__.keys() else data
