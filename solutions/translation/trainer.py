"""The training loop: steps, schedule, checkpoints, and how it ends when something goes wrong."""

from __future__ import annotations

import contextlib
import copy
import math
import random
import signal
import time
from dataclasses import replace
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
from solutions.ch7_training import noam_rate
from solutions.translation import TranslationError
from solutions.translation.batches import Batch, Batches
from solutions.translation.data import Pair
from solutions.translation.decoding import Translator
from solutions.translation.evaluation import quality
from solutions.translation.loss import linear_cross_entropy
from solutions.translation.machine import Machine
from solutions.translation.model import FastTransformer, build, n_parameters
from solutions.translation.run_folder import RunFolder, load_weights
from solutions.translation.tokenizer import PAD, Rows, SubwordSampler, Tokenizer

SAVE_SECONDS = 300  # a run that is killed loses no more than this and a step


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


class Objective(nn.Module):
    """From a batch to its loss: the model and the loss in one module, whose forward pass is compiled
    and which several processes share.

    Args:
        model: what is trained or judged.
        machine: what it is on.
        smoothing: label smoothing.
    """

    def __init__(self, model: FastTransformer, machine: Machine, smoothing: float) -> None:
        super().__init__()
        self.model, self.machine, self.smoothing = model, machine, smoothing
        self.hidden = torch.compile(model.hidden, dynamic=True) if machine.compile else model.hidden

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Sum of the losses of all real tokens of source (B, S) and target (B, T + 1)."""
        target_in, target_out = shift(target)
        with self.machine.autocast():
            hidden = self.hidden(source, target_in)
        return linear_cross_entropy(
            hidden.float().flatten(0, 1),
            self.model.project.weight,
            self.model.project.bias,
            target_out.flatten(),
            self.smoothing,
            PAD,
            self.machine.dtype,
        )


class Trainer:
    """A model in training.

    A step is a function of the weights, the optimizer's state and the numbers of the step and of the
    batch: batches and dropout depend on nothing else. So a run that was resumed gives the same bits as
    one that was not.

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
        self.tokenizer = tokenizer
        self.step = self.batch = 0  # steps that are done, batches that all processes have had
        self.seconds = self.processor_seconds = 0.0
        self.best = -math.inf
        self.since_best = 0
        self._seed()
        self.model = build(settings, len(tokenizer), machine.attention, machine.device.type)
        self.model.to(machine.device)
        # the weights to translate with: a moving average, or those in training themselves
        self.average = copy.deepcopy(self.model) if settings["ema"] else self.model
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            betas=(0.9, 0.98),
            eps=settings["epsilon"],
            weight_decay=settings["weight_decay"],
            fused=machine.device.type != "mps",
        )
        self.objective: nn.Module = Objective(self.model, machine, settings["smoothing"])
        if machine.world_size > 1:
            self.objective = DistributedDataParallel(self.objective)
        self.pairs, self.valid_pairs = pairs, valid
        self.batches = self._batches(pairs, settings["subword_dropout"])
        self.valid = self._batches(valid, 0.0) if valid else None

    def _batches(self, pairs: list[Pair], dropout: float) -> Batches:
        settings = self.settings
        sources, targets = zip(*pairs, strict=True)
        if dropout:
            kinds = [
                SubwordSampler(self.tokenizer, texts, dropout, settings["seed"])
                for texts in (sources, targets)
            ]
            return Batches(
                lambda epoch: tuple(kind.epoch(epoch) for kind in kinds),
                settings["tokens"],
                settings["seed"],
                self.machine.multiple,
            )
        encoded = tuple(Rows.of(self.tokenizer.encode(texts)) for texts in (sources, targets))
        room = self.model.positions.encoding.shape[0]
        longest = max(int(rows.lengths.max()) for rows in encoded)
        if longest >= room:
            raise TranslationError(
                f"a sentence has {longest} pieces; the model has room for {room}"
            )
        return Batches(
            lambda epoch: encoded, settings["tokens"], settings["seed"], self.machine.multiple
        )

    def _seed(self) -> None:
        """Seed dropout: by the step, and differently in each process."""
        name = f"{self.settings['seed']} {self.step} {self.machine.rank if self.step else 0}"
        torch.manual_seed(random.Random(name).getrandbits(32))

    def _on_device(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        parts = batch.source, batch.target
        if self.machine.device.type == "cuda":
            parts = tuple(part.pin_memory() for part in parts)
        return tuple(part.to(self.machine.device, non_blocking=True) for part in parts)

    def train_step(self) -> tuple[torch.Tensor, torch.Tensor, int]:
        """One step of the optimizer on `accumulate` batches in each process.

        Every token counts the same, whichever batch and process it is in.

        Returns:
            This process's part of the loss, the norm of the gradient, and all tokens of the step.
        """
        settings, world = self.settings, self.machine.world_size
        size = world * settings["accumulate"]
        group = range(self.batch, self.batch + size)
        tokens = sum(self.batches.predicted(n) for n in group)
        self.step += 1
        self.batch += size
        self._seed()
        self.objective.train()
        own = group[self.machine.rank :: world]
        total = torch.zeros((), device=self.machine.device)
        for n in own:
            wait = world > 1 and n != own[-1]  # gradients travel once a step
            with self.objective.no_sync() if wait else contextlib.nullcontext():
                loss = self.objective(*self._on_device(self.batches[n])) / tokens
                (loss * world).backward()  # DistributedDataParallel takes the mean of all processes
            total += loss.detach()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), settings["clip"])
        for part in self.optimizer.param_groups:
            part["lr"] = learning_rate(self.step, settings)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if settings["ema"]:
            # a young average forgets faster, so that the first weights do not linger
            decay = min(settings["ema"], (1 + self.step) / (10 + self.step))
            with torch.no_grad():
                torch._foreach_lerp_(
                    list(self.average.parameters()), list(self.model.parameters()), 1 - decay
                )
        return total, norm, tokens

    @torch.inference_mode()
    def validate(self) -> dict[str, float]:
        """Mean loss over the tokens of the validation pairs, not smoothed, and the quality of greedy
        translations."""
        objective = Objective(self.average, replace(self.machine, compile=False), 0.0).eval()
        total = torch.zeros((), device=self.machine.device)
        for n in range(len(self.valid)):
            total += objective(*self._on_device(self.valid[n]))
        loss = total.item() / sum(self.valid.predicted(n) for n in range(len(self.valid)))
        sources, references = zip(*self.valid_pairs, strict=True)
        written = Translator(self.average, self.tokenizer, self.machine)(sources)
        if self.average is self.model:
            self.model.train()
        name, value = quality(written, references, self.settings)
        return {"valid_loss": loss, f"valid_{name}": value}

    def state(self) -> dict:
        """What it takes to go on."""
        return {
            "step": self.step,
            "batch": self.batch,
            "begins": self.batches.begins,
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
            "best": self.best,
            "since_best": self.since_best,
            "average": self.average.state_dict(),
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
        load_weights(self.average, checkpoint["average"], folder.last)
        self.step, self.batch = checkpoint["step"], checkpoint["batch"]
        self.batches.begins = checkpoint["begins"]
        self.seconds = checkpoint["seconds"]
        self.processor_seconds = checkpoint["processor_seconds"]
        self.best, self.since_best = checkpoint["best"], checkpoint["since_best"]

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
        processor_before = self.processor_seconds - time.process_time()
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
                self.processor_seconds = processor_before + time.process_time()
                metrics = {
                    "step": self.step,
                    "loss": sum(losses) / len(losses),
                    "gradient_norm": values[-1, 1].item(),
                    "rate": learning_rate(self.step, settings),
                    "tokens_per_second": round(speed),
                    "seconds": round(self.seconds, 2),
                    "processor_seconds": round(self.processor_seconds, 2),
                }
                pending.clear()
                if first:
                    folder.add(metrics)
                bar.update(task, completed=self.step, loss=metrics["loss"], speed=speed)
                return asked > 0

            asked = worse = False
            written = time.perf_counter()
            while self.step < settings["steps"] and not asked and not worse:
                epoch = self.batches.epoch_of(self.batch)
                pending.append(self.train_step())
                due = self.step == settings["steps"] or (
                    self.step % settings["save_every"] == 0
                    if settings["save_every"]
                    else self.batches.epoch_of(self.batch) > epoch
                )
                overdue = alone and time.perf_counter() - written > SAVE_SECONDS
                logged = self.step % settings["log_every"] == 0
                if due or overdue or logged or (alone and stop.asked):
                    asked = measure()
                else:
                    bar.update(task, completed=self.step)
                if due:
                    worse = self._checkpoint(folder)
                elif (asked or overdue) and first:
                    folder.save(self.state())
                if due or asked or overdue:
                    written = time.perf_counter()
                if (due or asked) and not alone:
                    distributed.barrier()  # nobody ends before the checkpoint is written
            if asked:
                raise Stopped(f"stopped after step {self.step}; --resume goes on from there")

    def _checkpoint(self, folder: RunFolder) -> bool:
        """Validate and save; True if it is time to stop since nothing gets better."""
        settings, first = self.settings, self.machine.rank == 0
        best = False
        if first and self.valid:
            found = self.validate()
            clocks = {"seconds": self.seconds, "processor_seconds": self.processor_seconds}
            folder.add({"step": self.step, "batch": self.batch, **clocks, **found})
            score = found[max(found.keys() - {"valid_loss"})]
            best = score > self.best
            self.best, self.since_best = max(score, self.best), 0 if best else self.since_best + 1
        if first:
            folder.save(self.state())
            folder.save_weights(self.step, self.average.state_dict(), settings["keep"], best)
            folder.plot()
        worse = torch.tensor(float(self.since_best), device=self.machine.device)
        if self.machine.world_size > 1:
            distributed.broadcast(worse, 0)
        return 0 < settings["patience"] <= worse.item()

    def summary(self) -> str:
        """What is trained on what, in one line."""
        where = self.machine
        processes = f", {where.world_size} processes" if where.world_size > 1 else ""
        return (
            f"{n_parameters(self.model):,} parameters, {len(self.pairs):,} pairs, "
            f"{len(self.batches):,} batches an epoch; {where.device}, {where.precision}, "
            f"{where.attention} attention{', compiled' if where.compile else ''}{processes}"
        )
