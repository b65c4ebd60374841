"""What known mistakes cost where a model learns with them: which were measured, the rule, and a sentence for each.

`book/models/mistakes.py` measures, and *What training doesn't tell you* stores what it finds. Here it is read,
for that page and for the panels of tasks.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Exercise
from autograder.files import digest_of
from autograder.programs import without_docstrings
from autograder.publish.experiments import RESULTS, read_results
from book.experiments import ROOT

PAGE = "what_training_tells"
STORED = ROOT / RESULTS / f"{PAGE}.json"
EXERCISES = {
    "attention": "ch2_scaled_dot_product",
    "split_heads": "ch3_multi_head",
    **dict.fromkeys(("causal_mask", "masked_softmax", "masked_cross_entropy"), "ch4_masking"),
}
# by game and task, the mistakes that were measured; a correct answer to the first task stands for all of a game
MEASURED: dict[str, dict[str, tuple[str, ...]]] = {
    "cards": {
        "attention": (
            *("no scaling, in torch", "divided by dk, in torch", "square root of dv, in torch"),
            *("multiplied by the square root, in torch", "scaled after the softmax, in torch"),
            *(
                "square root of the number of keys, in torch",
                "log-softmax in place of softmax, in torch",
            ),
            *("softmax over the queries, in torch", "softmax over dim 0, in torch"),
            *("later keys hidden, in torch", "query and key exchanged, in torch"),
            *("dropout left on, in torch", "weights detached, in torch"),
            *("key detached, in torch", "values detached, in torch"),
        )
    },
    "letters": {
        "causal_mask": (
            *("everything allowed", "one position of the future allowed"),
            "a query doesn't see itself",
        ),
        "masked_softmax": ("softmax over the queries",),
    },
    "numbers": {
        "causal_mask": ("everything allowed",),
        "attention": ("divided by dk, in torch", "no scaling, in torch"),
        "split_heads": ("view without transpose",),
        "masked_cross_entropy": ("sum in place of the mean",),
    },
}
HALF, POINTS, SLOWER = 0.5, 0.02, 1.25


@dataclass(frozen=True)
class Cost:
    """What a mistake costs: its kind, and means of three trainings.

    kind: "never", "less", "slower" or "nothing"; share: right at the end; loss: at the end; steps: until a share of 0.9
    was right, None if one of them never got there; times: as many steps as with the correct answer.
    """

    kind: str
    share: float
    loss: float
    steps: float | None
    times: float | None


def cost(runs: list[list], right: list[list]) -> Cost:
    """The rule. runs, right: of a mistake and of the correct answer, (steps, loss, share) for each seed.

    Never works: less than half of the correct answer's share. Less: more than 2 points below it. Slower: at least 1.25
    times the steps. Nothing: neither.
    """
    share, whole = (fmean(run[2] for run in some) for some in (runs, right))
    # a loss that is no number any more is none
    losses = [float("inf") if run[1] is None else run[1] for run in runs]
    arrived = [run[0] for run in runs if run[0] is not None]
    steps = fmean(arrived) if len(arrived) == len(runs) else None
    times = steps / fmean(run[0] for run in right) if steps else None
    if share < HALF * whole:
        kind = "never"
    elif share < whole - POINTS or times is None:
        kind = "less"
    else:
        kind = "slower" if times >= SLOWER else "nothing"
    return Cost(kind, share, fmean(losses), steps, times)


def sentence(found: Cost, right: Cost) -> str:
    """What a cost means, for the reader whose mistake it is."""
    percent, whole = f"{found.share:.0%}", f"{right.share:.0%}"
    ends = f"at its best rate, {percent} are correct at the end, and {whole} with a correct answer."
    if found.kind == "never" and found.loss < right.loss / 2:
        return (
            f"This never works. The loss is far lower than with a correct answer. Even so, {ends}"
        )
    if found.kind == "never":
        return f"This never works: {ends}"
    if found.kind == "less":
        return f"This works less well: {ends}"
    if found.kind == "slower":
        return f"This is slower: at its best rate, it takes {found.times:.1f} times as many steps."
    return (
        "On this task it costs nothing: at its best rate, the model learns as well as with a correct answer. That's "
        "why a check has to find it."
    )


def measurements() -> Iterator[tuple[str, str, str, str, str]]:
    """The arguments of `book.models.mistakes.measured`: for each game the correct answer, then the mistakes."""
    for game, tasks in MEASURED.items():
        for task, names in [(next(iter(tasks)), [""]), *tasks.items()]:
            for name in names:
                yield game, EXERCISES[task], task, name, _digest(EXERCISES[task], task, name)


def _digest(home: str, task: str, name: str) -> str:
    """Of a wrong answer, without its docstrings."""
    if not name:
        return digest_of("")[:16]
    exercise = Exercise(ROOT, home)
    mistake = next(m for m in mistakes(exercise) if (m.function, m.name) == (task, name))
    text = mistake_answers(exercise.program(), mistake)[task]
    return digest_of(ast.unparse(without_docstrings(ast.parse(text))))[:16]


def _stored(function: str) -> Iterator[tuple[list, Any]]:
    for entry in read_results(STORED)["results"]:
        if entry["function"] == function:
            yield entry["arguments"], entry["result"]


def costs_in(game: str, measures: dict[tuple[str, str, str], dict]) -> dict[tuple[str, str], Cost]:
    """The costs of a game by task and mistake, ("", "") the correct answer's.

    measures: what `measured` found, by game, task and mistake.
    """
    rows = {key[1:]: found["runs"] for key, found in measures.items() if key[0] == game}
    right = next(runs for (_, name), runs in rows.items() if not name)
    return {
        (task, name) if name else ("", ""): cost(runs, right) for (task, name), runs in rows.items()
    }


def costs(game: str, task: str) -> dict[str, str]:
    """A sentence for each mistake of a task that was measured in a game, from the stored results."""
    stored = {(args[0], *args[2:4]): result for args, result in _stored("measured")}
    found = costs_in(game, stored)
    right = found["", ""]
    return {name: sentence(one, right) for (of, name), one in found.items() if of == task}


def right_curve(game: str) -> list[list[float]]:
    """How the correct answer learns in a page under seed 0: steps, losses, shares of right answers."""
    return next(result for args, result in _stored("in_page") if args == [game])
