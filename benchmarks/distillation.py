"""What teachers are worth: each student beside a run that differs from it in nothing else.

python -m benchmarks.distillation --data DIR --plain runs/a runs/b --students runs/c runs/d

Each student is compared with the plain run at the same place, and all must have the same teachers. Everything
is measured on the validation pairs; the test pairs are never read.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from benchmarks.ablation import outcome
from benchmarks.record import save
from translation import TranslationError, data, machine
from translation.batches import Batches
from translation.decoding import Translator
from translation.distillation import mean_prediction
from translation.machine import Machine
from translation.model import FastTransformer
from translation.run_folder import RunFolder
from translation.settings import Settings
from translation.tokenizer import PAD, encode_pairs

TEACHING = ("distill_from", "distill_weight")


def check_alike(plain: RunFolder, student: RunFolder) -> None:
    """Make sure that two runs differ in the teachers alone.

    Raises:
        TranslationError: they differ in another setting, or the plain run has teachers.
    """
    one, other = plain.settings(), student.settings()
    if one.distill_from or not other.distill_from:
        raise TranslationError(f"{student.path} must have teachers, and {plain.path} none")
    for field in dataclasses.fields(Settings):
        theirs, ours = (getattr(settings, field.name) for settings in (other, one))
        if field.name not in TEACHING and theirs != ours:
            raise TranslationError(
                f"{student.path} and {plain.path} differ in {field.name}, too: {theirs} and {ours}"
            )


def loss_of_mean(models: Sequence[FastTransformer], batches: Batches, here: Machine) -> float:
    """Cross-entropy, in nats a piece, of the mean of what the models predict."""
    total = 0.0
    for n in range(len(batches)):
        batch = batches[n]
        target = batch.target[:, 1:]
        right = target[target != PAD].to(here.device)[:, None]
        total -= float(mean_prediction(models, batch, here).gather(1, right).log().sum())
    return total / sum(batches.predicted(n) for n in range(len(batches)))


def measure(plain: list[RunFolder], students: list[RunFolder], place: str) -> dict:
    """What the teachers, the plain runs and the students have come to.

    Raises:
        TranslationError: a student differs from its plain run in more than the teachers, or from the
            other students in the teachers.
    """
    taught = {one.settings().distill_from for one in students}
    if len(taught) != 1:
        raise TranslationError("the students must have the same teachers, in the same order")
    comparisons = []
    for one, other in zip(plain, students, strict=True):
        check_alike(one, other)
        settings = dataclasses.replace(other.settings(), data=place)
        comparisons.append(
            {
                "dropout": settings.dropout,
                "distill_weight": settings.distill_weight,
                "plain": outcome(one, settings),
                "student": outcome(other, settings),
            }
        )
    here = machine.choose("cpu", precision="float32")
    teachers = [Translator.load(RunFolder(path), here).model for path in taught.pop()]
    found = encode_pairs(data.load(settings, "valid"), students[0].tokenizer(), settings.longest)
    batches = Batches(lambda epoch: (found.sources, found.targets), settings.tokens, 0)
    return {
        "comparisons": comparisons,
        "valid_loss_of_teachers": [loss_of_mean([teacher], batches, here) for teacher in teachers],
        "valid_loss_of_their_mean": loss_of_mean(teachers, batches, here),
    }


def main() -> None:
    """Measure runs that are there already and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--data", required=True, help="folder of Multi30k's files")
    parser.add_argument("--plain", nargs="+", required=True, help="runs without teachers")
    parser.add_argument("--students", nargs="+", required=True, help="the same runs with teachers")
    arguments = parser.parse_args()
    if len(arguments.plain) != len(arguments.students):
        raise SystemExit("error: give as many --students as --plain, in the same order")
    try:
        plain, students = (
            [RunFolder(path) for path in paths] for paths in (arguments.plain, arguments.students)
        )
        save(__file__, measure(plain, students, arguments.data))
    except TranslationError as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
