"""What known mistakes cost in the games that learn in pages: measured, and said in a sentence.

`python -m book.training_costs cards attention` measures the mistakes of a game's task and writes
`book/measured/training_costs.json`; the book only reads that file. The rule, which was written before anything was
measured: a mistake has its own best rate of five, which one seed chooses; three other seeds then tell its scores.
It *never works* if it reaches less than half of what the correct answer reaches at its own best rate, or raises an
error; it *costs nothing* if it is within two points of that, and half of it after at most a quarter more steps;
otherwise it is *slower*.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Exercise
from autograder.reference import namespace_of

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "book" / "measured" / "training_costs.json"
# the tasks of each game that have a button for it, by their exercise
TASKS = {
    "cards": {"attention": "ch2_scaled_dot_product"},
    "letters": {"causal_mask": "ch4_masking"},
    "numbers": {"DecoderLayer": "ch6_transformer", "Transformer": "ch6_transformer"},
}
RATES = (0.1, 1 / 3, 1.0, 3.0, 10.0)  # times that of the correct answer
CHOOSING, TELLING = 3, (0, 1, 2)
# shares: what counts as half, as the same, and how many more steps as no cost
HALF, SAME, MORE = 0.5, 0.02, 1.25

Curve = list[list[float]]


def curve(game: str, functions: dict[str, Callable], seed: int, factor: float = 1.0) -> Curve:
    """Steps, losses and shares right of one training; none of an answer that can't be trained.

    factor: of the game's own rate.
    """
    program = importlib.import_module(f"book._practice.training.{game}")
    try:
        points = program.train(functions, seed, factor * program.RATE)
        return [[step, round(loss, 4), round(right, 4)] for step, loss, right in points]
    except Exception:
        return []


def share(points: Curve) -> float:
    """What a training has reached: the share right of its last fifth."""
    last = points[-max(len(points) // 5, 1) :]
    return fmean(right for _, _, right in last) if last else 0.0


def steps_to(points: Curve, reached: float) -> float:
    """The steps to a share right."""
    return next((step for step, _, right in points if right >= reached), math.inf)


def cost(game: str, functions: dict[str, Callable], half: float = 0.0) -> dict[str, Any]:
    """What an answer reaches at its own best rate: the rate's factor, shares and losses, and the steps to half of
    what the correct answer reaches; 0: of its own.
    """
    tried = {factor: share(curve(game, functions, CHOOSING, factor)) for factor in RATES}
    best = max(tried, key=lambda factor: tried[factor])
    curves = [curve(game, functions, seed, best) for seed in TELLING]
    shares = [round(share(points), 4) for points in curves]
    half = half or HALF * fmean(shares)
    return {
        "factor": round(best, 3),
        "shares": shares,
        "loss": round(fmean(points[-1][1] if points else math.inf for points in curves), 4),
        "steps": round(fmean(steps_to(points, half) for points in curves), 1),
    }


def kind(found: dict[str, Any], correct: dict[str, Any]) -> str:
    """What is true of a mistake: "an error", "never works", "slower" or "costs nothing"."""
    if math.isinf(found["loss"]):
        return "an error"
    reached, ours = fmean(found["shares"]), fmean(correct["shares"])
    if reached < HALF * ours:
        return "never works"
    same = reached >= ours - SAME and found["steps"] <= MORE * correct["steps"]
    return "costs nothing" if same else "slower"


def sentence(game: str, found: dict[str, Any], correct: dict[str, Any]) -> str:
    """What is said of a mistake below its curve."""
    which = kind(found, correct)
    if which == "an error":
        return "This can't be trained."
    reached, ours = (fmean(one["shares"]) for one in (found, correct))
    is_worse = reached < ours - SAME
    times = found["steps"] / correct["steps"]
    words = {
        "never works": "This never works.",
        "slower": "This learns less than correct code."
        if is_worse
        else f"This is slower: it needs {times:.1f} times as many steps to come half as far.",
        "costs nothing": "On this task it costs nothing; that's why a check has to find it.",
    }[which]
    words += (
        f" We measured it at its own best learning rate, with three seeds: {reached:.0%} of the {game} are correct at "
        f"the end, compared with {ours:.0%} for correct code."
    )
    if is_worse and found["loss"] <= correct["loss"]:
        words += f" Even so, its loss is no higher: {found['loss']:.3f}, and {correct['loss']:.3f} for correct code."
    return words


def measured() -> dict[str, Any]:
    """By game, what was measured: of the correct answer, and by task and mistake."""
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}


def sentences(game: str) -> dict[str, dict[str, str]]:
    """What is said of known mistakes, by task and mistake."""
    held = measured().get(game, {})
    return {
        task: {name: sentence(game, found, held["correct"]) for name, found in rows.items()}
        for task, rows in held.items()
        if task in TASKS[game]
    }


def note(game: str, name: str, found: dict[str, Any]) -> None:
    """Write what was measured of a mistake, or of the correct answer, into the file."""
    held = measured()
    held.setdefault(game, {}).update({name: {**held.get(game, {}).get(name, {}), **found}})
    MEASURED.write_text(json.dumps(held, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def measure(game: str, task: str) -> None:
    """Measure those mistakes of a task that haven't been, and write what was found after each."""
    exercise = Exercise(ROOT, TASKS[game][task])
    program = exercise.program()
    solved = namespace_of(program)
    if "correct" not in measured().get(game, {}):
        right = {task: solved[task]}
        # the curve that a page draws is that of the game's own rate, at which a reader's answer learns there
        note(game, "correct", cost(game, right) | {"curve": curve(game, right, TELLING[0])})
    half = HALF * fmean(measured()[game]["correct"]["shares"])
    done = measured()[game].get(task, {})
    for mistake in mistakes(exercise):
        if mistake.function == task and mistake.name not in done:
            wrong = dict(solved)
            exec("\n".join(mistake_answers(program, mistake).values()), wrong)
            found = cost(game, {task: wrong[task]}, half)
            note(game, task, {mistake.name: found})


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    measure(*sys.argv[1:])
