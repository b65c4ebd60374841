"""The training loop: steps, schedule, checkpoints, and how it ends when something goes wrong."""

from __future__ import annotations

import contextlib
import math
import random
import signal
import time
from types import FrameType

import torch
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from solutions.ch6_transformer import shift
from solutions.ch7_training import noam_rate, smoothed_cross_entropy
from solutions.translation import TranslationError
from solutions.translation.batches import Batches
from solutions.translation.data import Pair
from solutions.translation.machine import Machine
from solutions.translation.model import build, n_parameters
from solutions.translation.run_folder import RunFolder, load_weights
from solutions.translation.tokenizer import PAD, Tokenizer


class Stopped(Exception):
    """Training was interrupted and has left a checkpoint."""


class _Interruption:
    """Turns Ctrl-C, and the SIGTERM that torchrun passes on, into a flag that the loop looks at.

    A second Ctrl-C interrupts at once; not under torchrun, where one arrives more than once.
    """

    def __init__(self, alone: bool) -> None:
        self.alone = alone
        self.asked = False

    def __enter__(self) -> _Interruption:
        self.before = {s: signal.signal(s, self._ask) for s in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked and self.alone:
            raise KeyboardInterrupt
        self.asked = True


def learning_rate(step: int, settings: dict) -> float:
    """The rate of a step: it rises to `rate` in `warmup` steps, then falls.

    It falls with the inverse square root of the step (Vaswani et al. 2017, equation 3) if `schedule`
    is "noam", or with a half cosine that ends at zero after the last step (Loshchilov and Hutter 2017)
    if it is "cosine".
    """
    warmup = settings["warmup"]
    if settings["schedule"] == "noam":
        width = settings["d_model"]
        return settings["rate"] * noam_rate(step, width, warmup) / noam_rate(warmup, width, warmup)
    if step < warmup:
        return settings["rate"] * step / warmup
    done = (step - warmup) / max(1, settings["steps"] - warmup)
    return settings["rate"] * 0.5 * (1 + math.cos(math.pi * done))


class Trainer:
    """A model in training.

    A step is a function of the weights, the optimizer's state and the step's number: batches and
    dropout depend on nothing else. So a run that was resumed gives the same bits as one that was not.

    Args:
        settings: those of the run.
        machine: what to compute on.
        tokenizer: the vocabulary.
        pairs: sentences to train on.
        valid: sentences to measure the loss on; may be empty.
    """

    def __init__(
        self,
        settings: dict,
        machine: Machine,
        tokenizer: Tokenizer,
        pairs: list[Pair],
        valid: list[Pair],
    ) -> None:
        self.settings = settings
        self.machine = machine
        self.step = 0
        self.seconds = 0.0
        self._seed()
        self.model = build(settings, len(tokenizer), machine.attention).to(machine.device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            betas=(0.9, 0.98),
            eps=1e-9,
            weight_decay=settings["weight_decay"],
            fused=machine.device.type != "mps",
        )
        self.forward: nn.Module = (
            torch.compile(self.model, dynamic=True) if machine.compile else self.model
        )
        if machine.world_size > 1:
            self.forward = DistributedDataParallel(self.forward)
        self.batches = self._batches(pairs, tokenizer)
        self.valid = self._batches(valid, tokenizer) if valid else None

    def _batches(self, pairs: list[Pair], tokenizer: Tokenizer) -> Batches:
        sources, targets = zip(*pairs, strict=True)
        encoded = tokenizer.encode(sources), tokenizer.encode(targets)
        room = self.model.positions.encoding.shape[0]
        longest = max(len(row) for rows in encoded for row in rows)
        if longest >= room:
            raise TranslationError(
                f"a sentence has {longest} pieces; the model has room for {room}"
            )
        return Batches(*encoded, self.settings["tokens"], self.settings["seed"])

    def _seed(self) -> None:
        """Seed dropout: by the step, and differently in each process."""
        name = f"{self.settings['seed']} {self.step} {self.machine.rank if self.step else 0}"
        torch.manual_seed(random.Random(name).getrandbits(32))

    def _loss(self, batches: Batches, n: int) -> torch.Tensor:
        """Mean loss over the tokens of batch n."""
        source, target = batches[n]
        if self.machine.device.type == "cuda":
            source, target = source.pin_memory(), target.pin_memory()
        target_in, target_out = shift(target.to(self.machine.device, non_blocking=True))
        source = source.to(self.machine.device, non_blocking=True)
        with self.machine.autocast():
            logits = self.forward(source, target_in)
        smoothing = self.settings["smoothing"] if self.model.training else 0.0
        return smoothed_cross_entropy(logits.float(), target_out, smoothing, PAD)

    def train_step(self) -> tuple[torch.Tensor, torch.Tensor, int]:
        """One step of the optimizer on `accumulate` batches in each process.

        Every token counts the same, whichever batch and process it is in: a batch's mean loss is
        weighted by its share of the step's tokens.

        Returns:
            This process's part of the loss, the norm of the gradient, and all tokens of the step.
        """
        world = self.machine.world_size
        size = world * self.settings["accumulate"]
        group = range(self.step * size, (self.step + 1) * size)
        tokens = sum(self.batches.predicted(n) for n in group)
        self.step += 1
        self._seed()
        self.model.train()
        own = group[self.machine.rank :: world]
        total = torch.zeros((), device=self.machine.device)
        for n in own:
            wait = world > 1 and n != own[-1]  # gradients travel once a step
            with self.forward.no_sync() if wait else contextlib.nullcontext():
                loss = self._loss(self.batches, n) * (self.batches.predicted(n) / tokens)
                (loss * world).backward()  # DistributedDataParallel takes the mean of all processes
            total += loss.detach()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings["clip"])
        for part in self.optimizer.param_groups:
            part["lr"] = learning_rate(self.step, self.settings)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total, norm, tokens

    @torch.inference_mode()
    def valid_loss(self) -> float:
        """Mean loss over the tokens of the validation pairs, not smoothed."""
        self.model.eval()
        compiled, self.forward = self.forward, self.model
        counts = [self.valid.predicted(n) for n in range(len(self.valid))]
        losses = [float(self._loss(self.valid, n)) * count for n, count in enumerate(counts)]
        self.forward = compiled
        return sum(losses) / sum(counts)

    def state(self) -> dict:
        """What it takes to go on."""
        return {
            "step": self.step,
            "seconds": self.seconds,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, folder: RunFolder) -> None:
        """Go on where the last checkpoint was written.

        Raises:
            TranslationError: the checkpoint is broken or of another model.
        """
        checkpoint = folder.read()
        if not isinstance(checkpoint, dict) or not self.state().keys() <= checkpoint.keys():
            raise TranslationError(f"{folder.last} is no checkpoint of this trainer")
        load_weights(self.model, checkpoint["model"], folder.last)
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.step, self.seconds = checkpoint["step"], checkpoint["seconds"]

    def run(self, folder: RunFolder, show: bool = True) -> None:
        """Train to the last step, with metrics and checkpoints.

        Args:
            folder: where they go; process 0 alone writes.
            show: whether to draw a progress bar.

        Raises:
            Stopped: Ctrl-C; a checkpoint of the last step is there.
            TranslationError: the loss is no longer a number, or the disk is full.
        """
        settings, first = self.settings, self.machine.rank == 0
        pending: list[tuple[torch.Tensor, torch.Tensor, int]] = []
        begun = saved = time.perf_counter()
        before = self.seconds
        columns = (
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:.3f} · {task.fields[speed]:,.0f} tokens/s ·"),
            TimeElapsedColumn(),
            TextColumn("gone ·"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        alone = self.machine.world_size == 1
        with _Interruption(alone) as stop, Progress(*columns, disable=not (show and first)) as bar:
            task = bar.add_task(
                "", total=settings["steps"], completed=self.step, loss=math.nan, speed=0
            )

            def measure() -> bool:
                """Look at the steps since the last time; True if training is to stop."""
                nonlocal saved
                values = torch.stack([torch.stack(item[:2]) for item in pending])
                losses = torch.cat([values[:, 0], values.new_tensor([float(stop.asked)])])
                if not alone:
                    distributed.all_reduce(losses)
                *losses, asked = losses.tolist()
                for place, (loss, norm) in enumerate(
                    zip(losses, values[:, 1].tolist(), strict=True)
                ):
                    if not math.isfinite(loss + norm):
                        step = self.step - len(losses) + 1 + place
                        what = "loss" if not math.isfinite(loss) else "gradient"
                        raise TranslationError(
                            f"the {what} of step {step} is not a number; {folder.last} is the last "
                            "good checkpoint, a lower --rate or a longer --warmup may help"
                        )
                now = time.perf_counter()
                speed = sum(item[2] for item in pending) / (now - saved)
                self.seconds, saved = before + now - begun, now
                metrics = {
                    "step": self.step,
                    "loss": sum(losses) / len(losses),
                    "gradient_norm": values[-1, 1].item(),
                    "rate": learning_rate(self.step, settings),
                    "tokens_per_second": round(speed),
                    "seconds": round(self.seconds, 2),
                    "processor_seconds": round(time.process_time(), 2),
                }
                pending.clear()
                if first:
                    folder.add(metrics)
                bar.update(task, completed=self.step, loss=metrics["loss"], speed=speed)
                return asked > 0

            asked = False
            while self.step < settings["steps"] and not asked:
                pending.append(self.train_step())
                due = self.step % settings["save_every"] == 0 or self.step == settings["steps"]
                if due or self.step % settings["log_every"] == 0 or (alone and stop.asked):
                    asked = measure()
                else:
                    bar.update(task, completed=self.step)
                if (due or asked) and first:
                    if self.valid:
                        folder.add({"step": self.step, "valid_loss": self.valid_loss()})
                    folder.save(self.state(), settings["keep"])
                    folder.plot()
                if (due or asked) and not alone:
                    distributed.barrier()  # nobody ends before the checkpoint is written
            if asked:
                raise Stopped(f"stopped after step {self.step}; --resume goes on from there")

    def summary(self) -> str:
        """What is trained on what, in one line."""
        where = self.machine
        processes = f", {where.world_size} processes" if where.world_size > 1 else ""
        return (
            f"{n_parameters(self.model):,} parameters, {len(self.batches.sources):,} pairs, "
            f"{len(self.batches):,} batches an epoch; {where.device}, {where.precision}, "
            f"{where.attention} attention{', compiled' if where.compile else ''}{processes}"
        )
