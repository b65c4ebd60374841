"""The metrics of a run: what its steps have given, looked at now and then, since a look makes the device wait."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from torch import distributed

from translation import TranslationError
from translation.feed import Work
from translation.optimization import learning_rate
from translation.run_folder import RunFolder

if TYPE_CHECKING:
    from translation.trainer import Trainer


class Step(NamedTuple):
    """A step that is done: this process's part of the loss, the norm of the gradient, and what the step was
    made of."""

    loss: torch.Tensor
    norm: torch.Tensor
    work: Work


def progress(shown: bool) -> Progress:
    """The bar that shows how far a run is."""
    return Progress(
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f} · {task.fields[speed]:,.0f} tokens/s ·"),
        TimeElapsedColumn(),
        TextColumn("gone ·"),
        TimeRemainingColumn(),
        TextColumn("left"),
        disable=not shown,
    )


class Log:
    """The metrics of a run that goes on.

    Args:
        trainer: whose steps they are.
        folder: where lines of metrics go.
        bar: shows the newest.
    """

    def __init__(self, trainer: Trainer, folder: RunFolder, bar: Progress) -> None:
        self.trainer, self.folder, self.bar = trainer, folder, bar
        self.steps: list[Step] = []
        self.saved = self.measured = time.perf_counter()
        self.before = trainer.seconds, trainer.processor_seconds
        self.task = bar.add_task(
            "", total=trainer.settings.steps, completed=trainer.step, loss=math.nan, speed=0
        )

    def add(self, step: Step) -> None:
        """Keep what a step has given."""
        self.steps.append(step)
        self.bar.update(self.task, completed=self.trainer.step)

    def measure(self) -> bool:
        """Write a line about the steps since the last time; True if a process was asked to stop.

        Raises:
            TranslationError: a loss or gradient is not a number.
        """
        trainer = self.trainer
        if not self.steps:  # the only process was interrupted in the step after the last line
            return trainer.stop.asked
        begun, processor_begun = trainer.begun
        values = torch.stack([torch.stack([step.loss, step.norm]) for step in self.steps])
        own = [float(trainer.stop.asked), time.process_time() - processor_begun]
        sums = torch.cat([values[:, 0], values.new_tensor(own)])
        if trainer.machine.world_size > 1:
            distributed.all_reduce(sums)
        *losses, asked, processor_seconds = sums.tolist()
        self._check(losses, values[:, 1].tolist())
        now = time.perf_counter()
        speed = sum(step.work.tokens for step in self.steps) / (now - self.measured)
        trainer.seconds, self.measured = self.before[0] + now - begun, now
        trainer.processor_seconds = self.before[1] + processor_seconds
        metrics = {
            "step": trainer.step,
            "loss": sum(losses) / len(losses),
            "gradient_norm": values[-1, 1].item(),
            "rate": learning_rate(trainer.step, trainer.settings),
            "tokens_per_second": round(speed),
            "seconds": round(trainer.seconds, 2),
            "processor_seconds": round(trainer.processor_seconds, 2),
        }
        self.steps.clear()
        if trainer.machine.rank == 0:
            self.folder.add(metrics)
        self.bar.update(self.task, loss=metrics["loss"], speed=speed)
        return asked > 0

    def _check(self, losses: Sequence[float], norms: Sequence[float]) -> None:
        """Make sure that the losses and norms of the steps since the last time are numbers."""
        scaled = self.trainer.training_step.scaler.is_enabled()
        for place, (loss, norm) in enumerate(zip(losses, norms, strict=True)):
            # a scaled gradient may overflow; the step is left out and the scale halved
            if math.isfinite(loss if scaled else loss + norm):
                continue
            step = self.trainer.step - len(losses) + 1 + place
            what = "loss" if not math.isfinite(loss) else "gradient"
            last = self.folder.last
            kept = f"; {last} is the last good checkpoint" if last.exists() else ""
            raise TranslationError(
                f"the {what} of step {step} is not a number: a lower --rate or a longer --warmup may "
                f"help{kept}"
            )
