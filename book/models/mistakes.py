"""What a known mistake costs where a model learns with it, at its own best learning rate."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from unittest import mock

import torch

from autograder.catalogue import mistake_answers, mistakes, with_answers
from autograder.course import Exercise
from book._practice.training import cards, letters
from book.models import transformer
from book.models.seeds import seeds

ROOT = Path(__file__).resolve().parent.parent.parent
# twice the steps of the games in pages; of numbers as many as its program takes
STEPS = {"cards": 200, "letters": 600, "numbers": 600}
USUAL_RATES = {"cards": 0.03, "letters": 0.01, "numbers": 0.01}
FACTORS, MOST_RATES = (0.1, 0.3, 1, 3), 8
# a curve has arrived where this share is right
ARRIVED = 0.9
Point = tuple[int, float, float]


def answer_text(exercise: Exercise, task: str, name: str) -> str:
    """The catalogue's wrong answer of this name to a task."""
    mistake = next(m for m in mistakes(exercise) if (m.function, m.name) == (task, name))
    return mistake_answers(exercise.program(), mistake)[task]


def functions_of(home: str, task: str, name: str) -> dict[str, Callable]:
    """The functions of an exercise; one task's made by a wrong answer, if a mistake is named."""
    exercise = Exercise(ROOT, home)
    answers = {task: answer_text(exercise, task, name)} if name else {}
    found: dict = {"__name__": home}
    exec(with_answers(exercise.program(), answers), found)
    return found


def number_words(
    functions: dict[str, Callable], training_seed: int, rate: float, n_steps: int
) -> Iterator[Point]:
    """Train the program of chapter 6 with other functions in it, as its own `train` does.

    Yields the step, the loss and the share of fifty unseen numbers that it writes correctly, at the
    end of a hundred that are asked one by one.
    """
    with mock.patch.dict(vars(transformer), functions):
        torch.manual_seed(training_seed)
        learned, asked = transformer.different_numbers()
        asked = asked[:100]
        right = [" ".join(transformer.german(n)) for n in asked]
        source, target = transformer.tensors(learned)
        sizes = len(transformer.SOURCE), len(transformer.TARGET)
        model = transformer.Transformer(*sizes, 48, 4, 1, 96)
        optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
        for step in range(1, n_steps + 1):
            now = min(step / 50, 1, 2 * (1 - step / n_steps))
            optimizer.param_groups[0]["lr"] = rate * now
            rows = torch.randint(len(source), (64,))
            target_in, target_out = transformer.shift(target[rows])
            logits = model(source[rows], target_in)
            loss = transformer.masked_cross_entropy(logits, target_out, 0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step == n_steps:
                written = [transformer.translate(model, [n])[0] for n in asked]
            elif step % 25 == 0:
                written = transformer.translate(model, asked[:50])
            else:
                continue
            pairs = zip(written, right, strict=False)
            yield step, loss.item(), fmean(one == other for one, other in pairs)


def curve(
    game: str, home: str, task: str, name: str, training_seed: int, rate: float
) -> list[Point]:
    """How a game is learned with an answer: steps, losses, shares of right answers."""
    functions, n_steps = functions_of(home, task, name), STEPS[game]
    if game == "cards":
        return list(cards.train(functions, training_seed, rate, n_steps))
    if game == "letters":
        return list(letters.train(functions, training_seed, rate, n_steps))
    return list(number_words({task: functions[task]}, training_seed, rate, n_steps))


def measured(game: str, home: str, task: str, name: str, digest: str) -> dict:
    """A game, learned with a known mistake at the best of its rates under three seeds.

    The best rate has the highest share of right answers on the average of a curve, under a seed that has no part
    in the result. While it is the lowest or the highest of those tried, another one is tried.

    Args:
        game: "cards", "letters" or "numbers".
        home: the task's exercise.
        task: whose answer is wrong.
        name: of the mistake; "" for the correct answer.
        digest: of the answer's text, so that the result counts for this text only.

    Returns: the rate; the rates that were tried with the average shares; and for each seed the step at which a share of
        0.9 was reached (None if it wasn't), the loss and the share at the end.
    """
    choosing, *others = seeds(4)
    tried: dict[float, float] = {}
    rates = [USUAL_RATES[game] * factor for factor in FACTORS]
    while rates:
        for rate in rates:
            points = curve(game, home, task, name, choosing, rate)
            tried[rate] = fmean(share for *_, share in points)
        best = max(tried, key=lambda rate: tried[rate])
        further = {min(tried): min(tried) / 3, max(tried): max(tried) * 3}
        rates = [further[best]] if best in further and len(tried) < MOST_RATES else []
    runs = []
    for training_seed in others:
        points = curve(game, home, task, name, training_seed, best)
        arrived = next((step for step, _, share in points if share >= ARRIVED), None)
        _, loss, share = points[-1]
        runs.append([arrived, loss if math.isfinite(loss) else None, share])
    return {"rate": best, "tried": list(tried.items()), "runs": runs}
