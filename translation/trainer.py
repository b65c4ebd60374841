"""The training loop: steps, schedule, checkpoints, and how it ends when something goes wrong."""

from __future__ import annotations

import contextlib
import copy
import math
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

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

from translation import TranslationError
from translation.batches import Batches
from translation.data import Pair
from translation.decoding import Translator
from translation.distillation import SoftTargets, soft_targets
from translation.evaluation import quality
from translation.interruption import Interrupted, Interruption, Stopped
from translation.machine import Machine, out_of_memory, worth_compiling
from translation.model import (
    FastTransformer,
    build,
    compile_layers,
    n_parameters,
    uncompile_layers,
)
from translation.objective import Objective
from translation.optimization import learning_rate, optimizers, restore
from translation.run_folder import RunFolder, load_weights
from translation.settings import Settings
from translation.tokenizer import (
    Encoded,
    Rows,
    SubwordSampler,
    Tokenizer,
    encode_pairs,
)
from translation.training_step import TrainingStep

SAVE_SECONDS = 300  # a run that is killed loses no more than this and a step


def distribute(objective: nn.Module) -> DistributedDataParallel:
    """The same module in all processes, with the mean of their gradients. No buffer is sent, since
    positions are the same everywhere."""
    return DistributedDataParallel(objective, forward_sync_buffers=False)


@dataclass(frozen=True)
class Work:
    """What a step needs: this process's batches, as the tensors that the objective takes, the tokens that
    all processes predict, and whether an epoch ends with it."""

    begin: int
    batches: list[tuple[torch.Tensor, ...]]
    tokens: int
    ends_epoch: bool


class Step(NamedTuple):
    """A step that is done: this process's part of the loss, the norm of the gradient, and what the step was
    made of."""

    loss: torch.Tensor
    norm: torch.Tensor
    work: Work


class Trainer:
    """A model in training.

    A step is a function of the weights, the optimizer's state and the numbers of the step and of the
    batch: batches and dropout depend on nothing else. So a run that was resumed gives the same bits as
    one that was not.

    Args:
        settings: those of the run.
        machine: what to compute on.
        tokenizer: the vocabulary.
        pairs: sentences to train on, which are gone through more than once but never held in memory.
        valid: sentences to measure loss and quality on; may be empty.
        teachers: models of the same vocabulary, from whose predictions to learn, too.
    """

    def __init__(
        self,
        settings: Settings,
        machine: Machine,
        tokenizer: Tokenizer,
        pairs: Iterable[Pair],
        valid: Iterable[Pair],
        teachers: Sequence[FastTransformer] = (),
    ) -> None:
        self.begun = time.perf_counter(), time.process_time()
        self.settings = settings
        self.machine = machine
        self.tokenizer = tokenizer
        self.step = self.batch = 0  # steps that are done, batches that all processes have had
        self.seconds = self.processor_seconds = 0.0  # the latter of all processes together
        self.best = -math.inf
        self.since_best = 0
        self.deadline = math.inf
        self.checkpoint_due = False  # whether the last step is to be validated still
        self.stop = Interruption(alone=machine.world_size == 1)
        self._seed()
        self.model = build(settings, len(tokenizer), machine.attention, machine.device.type)
        self.model.to(machine.device)
        # the weights to translate with: a moving average, or those in training themselves
        self.average = copy.deepcopy(self.model) if settings.ema else self.model
        self.optimizers = optimizers(self.model, settings, machine.device.type)
        objective: nn.Module = Objective(
            self.model,
            machine,
            settings.smoothing,
            settings.rdrop,
            settings.distill_weight,
        )
        if machine.world_size > 1:
            objective = distribute(objective)
        self.remarks: list[str] = []
        self.teachers = teachers
        self.graphs = self._has_graphs()
        self.training_step = TrainingStep(
            objective,
            self.model,
            self.optimizers,
            self.average if settings.ema else None,
            settings.clip,
            torch.amp.GradScaler(machine.device.type, enabled=machine.precision == "float16"),
            machine.world_size,
            machine.record if self.graphs else None,
        )
        self.encoded = self._encode(pairs, "to train on")
        self.batches = self._batches(
            self._cut_anew(pairs) if settings.subword_dropout else self.encoded.whole
        )
        self.valid_pairs = list(valid)
        self.valid = None
        if self.valid_pairs:
            self.valid = self._batches(self._encode(self.valid_pairs, "to validate").whole)
        self._preparing = ThreadPoolExecutor(1)  # the one thread that looks at self.batches
        self._ahead: Future[Work] | None = None

    def _has_graphs(self) -> bool:
        """Whether CUDA graphs repeat the steps; a remark says so if they can't."""
        obstacles = {
            "--precision float16": self.machine.precision == "float16",
            "several processes": self.machine.world_size > 1,
            "--rdrop": self.settings.rdrop > 0,
            "--distill-from": bool(self.teachers),
        }
        found = [name for name, there in obstacles.items() if there]
        if self.machine.record and found:
            self.remarks.append(f"no CUDA graphs in training: not with {', '.join(found)}")
        return self.machine.record is not None and not found

    def compile(self, asked: bool | None) -> None:
        """Compile the model's layers in the next step, where the machine can and it is worth it.

        Args:
            asked: what the user wants; None = what is faster.
        """
        steps = self.settings.steps - self.step
        worth, remark = worth_compiling(self.machine, asked, steps, self.graphs)
        self.machine = replace(self.machine, compile=worth)
        self.remarks += filter(None, [remark])
        if worth:
            compile_layers(self.model)
        elif self.machine.device.type == "cuda":
            # cuDNN's attention plans its work for each new shape: on an H100 that took 6 of the 10 seconds
            # in which 400 steps of number words were done
            torch.backends.cuda.enable_cudnn_sdp(False)

    def eagerly(self) -> contextlib.AbstractContextManager:
        """For what isn't training: it would have to be compiled anew."""
        if not self.machine.compile:
            return contextlib.nullcontext()
        return torch.compiler.set_stance("force_eager")

    def _encode(self, pairs: Iterable[Pair], name: str) -> Encoded:
        settings = self.settings
        found = encode_pairs(pairs, self.tokenizer, settings.longest)
        if not len(found.sources):
            raise TranslationError(
                f"there are no pairs {name}: all {len(found.kept):,} are empty or have a sentence of more "
                f"than {settings.longest} pieces, which --longest can raise"
            )
        if found.empty or found.overlong:
            self.remarks.append(
                f"left out of the pairs {name}: {found.empty:,} with an empty sentence, "
                f"{found.overlong:,} with a sentence of more than {settings.longest} pieces"
            )
        return found

    @cached_property
    def soft(self) -> SoftTargets | None:
        """What the teachers predict, which takes as long as an epoch without a backward pass."""
        if not self.teachers:
            return None
        return soft_targets(self.teachers, self._batches(self.encoded.whole), self.machine)

    def _cut_anew(self, pairs: Iterable[Pair]) -> Callable[[int], tuple[Rows, Rows]]:
        """The sentences of an epoch with BPE-dropout. What teachers predict belongs to the places of the
        target's pieces, so that with teachers only the source is cut anew."""
        encoded = self.encoded
        samplers = [
            SubwordSampler(
                self.tokenizer,
                (pair[side] for pair, kept in zip(pairs, encoded.kept, strict=True) if kept),
                self.settings.subword_dropout,
                self.settings.seed,
            )
            for side in range(1 if self.teachers else 2)
        ]

        def sentences(epoch: int) -> tuple[Rows, Rows]:
            source, *target = (sampler.epoch(epoch) for sampler in samplers)
            return source, target[0] if target else encoded.targets

        return sentences

    def _batches(self, encoded: Callable[[int], tuple[Rows, Rows]]) -> Batches:
        settings = self.settings
        return Batches(
            encoded, settings.tokens, settings.seed, self.machine.multiple, few_shapes=self.graphs
        )

    def _seed(self) -> None:
        """Seed dropout: by the step, and differently in each process."""
        name = f"{self.settings.seed} {self.step} {self.machine.rank if self.step else 0}"
        torch.manual_seed(random.Random(name).getrandbits(32))

    def _prepare(self, begin: int) -> Work:
        """What the step needs whose first batch has the number `begin`."""
        size = self.machine.world_size * self.settings.accumulate
        group = range(begin, begin + size)
        own = (self.batches[n] for n in group[self.machine.rank :: self.machine.world_size])
        batches = [
            (one.source, one.target, *(self.soft.of(one) if self.soft else ())) for one in own
        ]
        if self.machine.device.type == "cuda":
            batches = [tuple(x.pin_memory() for x in batch) for batch in batches]
        ends = self.batches.epoch_of(begin + size) > self.batches.epoch_of(begin)
        return Work(begin, batches, sum(self.batches.predicted(n) for n in group), ends)

    def _work(self) -> Work:
        """What this step needs; what the next one needs is prepared meanwhile."""
        size = self.machine.world_size * self.settings.accumulate
        work = self._ahead.result() if self._ahead else None
        if work is None or work.begin != self.batch:
            work = self._preparing.submit(self._prepare, self.batch).result()
        self._ahead = self._preparing.submit(self._prepare, self.batch + size)
        self.batch += size
        return work

    def _on_device(self, batch: Iterable[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple(x.to(self.machine.device, non_blocking=True) for x in batch)

    def train_step(self) -> Step:
        """One step of the optimizer on `accumulate` batches in each process.

        Every token counts the same, whichever batch and process it is in. Nothing here waits for the
        device.

        Raises:
            TranslationError: the memory does not suffice.
            Interrupted: somebody asked to stop, and nothing has changed since the step before.
        """
        before = self.step, self.batch
        try:
            with self.stop.can_leave(together=True):
                work = self._work()
                self.step += 1
                loss = self._gradients(work)
        except Interrupted:
            self.step, self.batch = before
            self.training_step.forget_gradients()
            raise
        return Step(loss, self._update(), work)

    def _gradients(self, work: Work) -> torch.Tensor:
        """Forward and backward passes of a step; this process's part of the loss. Where the layers can't be
        compiled, it goes on without."""
        try:
            return self._passes(work)
        except RuntimeError as error:
            compiling = torch._dynamo.exc.TorchDynamoException if self.machine.compile else ()
            if not isinstance(error, compiling):
                raise
            reason = str(error).strip().partition("\n")[0]
            print(f"the layers can't be compiled, and stay as they are: {reason}", file=sys.stderr)
        self.machine = replace(self.machine, compile=False)
        uncompile_layers(self.model)
        self.training_step.forget_gradients()
        return self._passes(work)

    def _passes(self, work: Work) -> torch.Tensor:
        """As `_gradients`, but with an error where the layers can't be compiled."""
        self._seed()
        self.training_step.objective.train()
        self.training_step.total.zero_()
        for batch in work.batches:
            last = batch is work.batches[-1]
            try:
                with contextlib.nullcontext() if last else self._without_sending():
                    self.training_step.accumulate(work.tokens, *batch)
            except RuntimeError as error:
                raise self._out_of_memory(error, batch) from error
        return self.training_step.total.clone()

    def _without_sending(self) -> contextlib.AbstractContextManager:
        """Backward passes in which gradients stay in their process, since they travel once a step."""
        objective = self.training_step.objective
        if isinstance(objective, DistributedDataParallel):
            return objective.no_sync()
        return contextlib.nullcontext()

    def _update(self) -> torch.Tensor:
        """Clip the gradients, let the optimizers and the moving average go on; the norm before clipping."""
        # a young average forgets faster, so that the first weights do not linger
        decay = min(self.settings.ema, (1 + self.step) / (10 + self.step))
        self.training_step.update(learning_rate(self.step, self.settings), 1 - decay)
        return self.training_step.norm.clone()

    def _out_of_memory(self, error: RuntimeError, batch: tuple[torch.Tensor, ...]) -> Exception:
        """The error, or, if it is one of memory, what to do about it."""
        if not out_of_memory(error):
            return error
        (rows, source), target = batch[0].shape, batch[1].shape[1]
        # all pairs together may be smaller than a batch could be
        tokens = min(self.settings.tokens, rows * max(source, target - 1))
        accumulate = self.settings.accumulate
        return TranslationError(
            f"out of memory in step {self.step}, with {rows} sentences of {source} and {target} pieces: "
            f"a new run with --tokens {tokens // 2} --accumulate {2 * accumulate} needs half as much "
            "and learns the same"
        )

    @torch.inference_mode()
    def validate(self, valid: Batches) -> dict[str, float]:
        """Mean loss over the tokens of the validation pairs, not smoothed, and the quality of greedy
        translations."""
        objective = Objective(self.average, self.machine, 0.0).eval()
        total = torch.zeros((), device=self.machine.device)
        tokens = 0
        with self.eagerly():
            for n in range(len(valid)):
                batch = valid[n]
                total += objective(*self._on_device((batch.source, batch.target)))
                tokens += batch.tokens
            loss = total.item() / tokens
            sources, references = zip(*self.valid_pairs, strict=True)
            written = Translator(self.average, self.tokenizer, self.machine)(sources)
        name, value = quality(written, references, self.settings)
        return {"valid_loss": loss, f"valid_{name}": value}

    def state(self) -> dict:
        """What it takes to go on."""
        return {
            "step": self.step,
            "batch": self.batch,
            "checksum": self.encoded.checksum,
            "begins": list(self.batches.begins),
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
            "best": self.best,
            "since_best": self.since_best,
            "checkpoint_due": self.checkpoint_due,
            "average": self.average.state_dict(),
            "scaler": self.training_step.scaler.state_dict(),
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
        }

    def begin_with(self, weights: dict[str, torch.Tensor], origin: RunFolder) -> None:
        """Begin with the weights of another run.

        Raises:
            TranslationError: they are of another model.
        """
        for model in (self.model, self.average):
            load_weights(model, weights, origin.path)

    def restore(self, folder: RunFolder) -> None:
        """Go on where the last checkpoint was written, which process 0 reads for all.

        Raises:
            TranslationError: the checkpoint is broken, of another model or of other pairs.
        """
        checkpoint = self.machine.share(folder.read() if self.machine.rank == 0 else None)
        needed = self.state().keys() - {"checkpoint_due"}  # earlier versions had no such thing
        if not isinstance(checkpoint, dict) or not needed <= checkpoint.keys():
            raise TranslationError(f"{folder.last} is no checkpoint of this trainer")
        if checkpoint["checksum"] != self.encoded.checksum:
            raise TranslationError(
                f"these are not the pairs that {folder.path} was trained on, so its place among them means "
                f"nothing; a new run can begin with its weights: --init-from {folder.path}"
            )
        load_weights(self.model, checkpoint["model"], folder.last)
        if len(checkpoint["optimizers"][0]["param_groups"]) == 1:  # a run goes on as it was begun
            self.optimizers[:] = optimizers(
                self.model, self.settings, self.machine.device.type, decay_all=True
            )
        for optimizer, state in zip(self.optimizers, checkpoint["optimizers"], strict=True):
            restore(optimizer, state)
        load_weights(self.average, checkpoint["average"], folder.last)
        self.training_step.scaler.load_state_dict(checkpoint["scaler"])
        self.step, self.batch = checkpoint["step"], checkpoint["batch"]
        self.batches.begins = checkpoint["begins"]
        self.seconds = checkpoint["seconds"]
        self.processor_seconds = checkpoint["processor_seconds"]
        self.best, self.since_best = checkpoint["best"], checkpoint["since_best"]
        self.checkpoint_due = checkpoint.get("checkpoint_due", False)
        if self.settings.steps < self.step:
            raise TranslationError(
                f"--steps {self.settings.steps}: {folder.path} has done {self.step} already"
            )

    def run(self, folder: RunFolder, show: bool = True, minutes: float | None = None) -> None:
        """Train to the last step, with metrics and checkpoints.

        Args:
            folder: where they go; process 0 alone writes.
            show: whether to draw a progress bar.
            minutes: end after this time, with a checkpoint; None = after the last step.

        Raises:
            Stopped: Ctrl-C or SIGTERM; a checkpoint of the last step is there.
            TranslationError: the loss is no longer a number, or the disk is full.
        """
        if minutes is not None:
            self.deadline = time.perf_counter() + 60 * minutes
        with self.stop, _progress(show and self.machine.rank == 0) as bar:
            try:
                with self.stop.can_leave(together=False):
                    _ = self.soft
                ended = self.checkpoint_due and self._checkpoint(folder)
                log = _Log(self, folder, bar)
                while self.step < self.settings.steps and not ended:
                    ended = self._advance(log)
            except Interrupted:
                if self.machine.rank == 0:
                    folder.save(self.state())
                self._wait()
                raise Stopped(
                    f"stopped after step {self.step}; --resume goes on from there"
                ) from None

    def _advance(self, log: _Log) -> bool:
        """Do a step and what is due after it; True if training is over since nothing gets better or the time
        is up.

        Raises:
            Interrupted: somebody asked to stop, and all steps that are done are in the metrics.
        """
        try:
            step = self.train_step()
        except Interrupted:
            log.measure()
            raise
        log.add(step)
        settings, alone = self.settings, self.machine.world_size == 1
        over = time.perf_counter() > self.deadline
        due = (
            over
            or self.step == settings.steps
            or (
                self.step % settings.save_every == 0
                if settings.save_every
                else step.work.ends_epoch
            )
        )
        overdue = alone and time.perf_counter() - log.saved > SAVE_SECONDS
        logged = self.step % settings.log_every == 0
        asked = (due or overdue or logged or (alone and self.stop.asked)) and log.measure()
        ended = False
        if due:
            ended = self._checkpoint(log.folder)
            self._wait()
        elif overdue and not asked:
            log.folder.save(self.state())
        if due or overdue:
            log.saved = time.perf_counter()
        if asked:
            raise Interrupted
        return ended or over

    def _wait(self) -> None:
        """Wait for the other processes, so that none ends before the checkpoint is written."""
        if self.machine.world_size > 1:
            distributed.barrier()

    def _checkpoint(self, folder: RunFolder) -> bool:
        """Validate and save; True if it is time to stop since nothing gets better.

        Raises:
            Interrupted: somebody asked to stop before validation had ended; it is due still.
        """
        settings, first = self.settings, self.machine.rank == 0
        self.checkpoint_due = True
        best = interrupted = False
        if first and self.valid:
            try:
                with self.stop.can_leave(together=False):
                    found = self.validate(self.valid)
            except Interrupted:
                interrupted = True
            else:
                best = self._judge(found, folder)
        if first and not interrupted:
            self.checkpoint_due = False
            folder.save(self.state())
            folder.save_weights(self.step, self.average.state_dict(), settings.keep, best)
            folder.plot()
        told = torch.tensor([self.since_best, interrupted], device=self.machine.device)
        if self.machine.world_size > 1:
            distributed.broadcast(told, 0)
        worse, interrupted = told.tolist()
        if interrupted:
            raise Interrupted
        self.checkpoint_due = False
        return 0 < settings.patience <= worse

    def _judge(self, found: dict[str, float], folder: RunFolder) -> bool:
        """Note how good the model is; True if it is the best so far."""
        clocks = {"seconds": self.seconds, "processor_seconds": self.processor_seconds}
        folder.add({"step": self.step, "batch": self.batch, **clocks, **found})
        score = found[max(found.keys() - {"valid_loss"})]
        best = score > self.best
        self.best, self.since_best = max(score, self.best), 0 if best else self.since_best + 1
        return best

    def summary(self) -> str:
        """What is trained on what; each remark is a line of its own."""
        where = self.machine
        processes = f", {where.world_size} processes" if where.world_size > 1 else ""
        threads = f", threads: {torch.get_num_threads()}" if where.device.type == "cpu" else ""
        line = (
            f"{n_parameters(self.model):,} parameters, {self.batches.sentences:,} pairs, "
            f"{len(self.batches):,} batches an epoch; {where.device}, {where.precision}"
            f"{f' ({where.reason})' if where.reason else ''}, {where.attention} attention"
            f"{', compiled' if where.compile else ''}{', CUDA graphs' if self.graphs else ''}"
            f"{processes}{threads}"
        )
        return "\n".join([line, *self.remarks])


def _progress(shown: bool) -> Progress:
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


class _Log:
    """The metrics of a run that goes on: it keeps what steps have given and looks at it now and then, since
    a look makes the device wait.

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
