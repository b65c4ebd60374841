"""The training loop: steps, checkpoints, and how it ends when something goes wrong."""

from __future__ import annotations

import contextlib
import math
import random
import sys
import time
from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from translation import TranslationError
from translation.batches import Batches
from translation.data import Pair
from translation.decoding import Translator
from translation.evaluation import quality
from translation.feed import Feed, Work
from translation.interruption import Interrupted, Interruption, Stopped
from translation.log import Log, Step, progress
from translation.machine import Machine, out_of_memory, worth_compiling
from translation.model import build, compile_layers, n_parameters, uncompile_layers
from translation.objective import Objective
from translation.optimization import learning_rate, optimizer, restore
from translation.run_folder import RunFolder, load_weights
from translation.settings import Settings
from translation.tokenizer import Encoded, Tokenizer, encode_pairs
from translation.training_step import TrainingStep

SAVE_SECONDS = 300  # a run that is killed loses no more than this and a step


def distribute(objective: nn.Module) -> DistributedDataParallel:
    """The same module in all processes, with the mean of their gradients. No buffer is sent, since
    positions are the same everywhere."""
    return DistributedDataParallel(objective, forward_sync_buffers=False)


class Trainer:
    """A model in training.

    A step is a function of the weights, the optimizer's state and the numbers of the step and of the
    batch: batches and dropout depend on nothing else. So a run that was resumed gives the same bits as
    one that was not.

    Args:
        settings: those of the run.
        machine: what to compute on.
        tokenizer: the vocabulary.
        pairs: sentences to train on, which are gone through once and never held in memory.
        valid: sentences to measure loss and quality on; may be empty.
    """

    def __init__(
        self,
        settings: Settings,
        machine: Machine,
        tokenizer: Tokenizer,
        pairs: Iterable[Pair],
        valid: Iterable[Pair],
    ) -> None:
        self.begun = time.perf_counter(), time.process_time()
        self.settings, self.machine, self.tokenizer = settings, machine, tokenizer
        self.step = self.batch = 0  # steps that are done, batches that all processes have had
        self.seconds = self.processor_seconds = 0.0  # the latter of all processes together
        self.best, self.since_best = -math.inf, 0
        self.checkpoint_due = False  # whether the last step is to be validated still
        self.remarks: list[str] = []
        self.stop = Interruption(alone=machine.world_size == 1)
        self.graphs = self._has_graphs()
        self._seed()
        self.model = build(settings, len(tokenizer), machine.attention, machine.device.type)
        self.model.to(machine.device)
        self.optimizer = optimizer(self.model, settings, machine.device.type)
        self.training_step = self._training_step()
        self.encoded = self._encode(pairs, "to train on")
        self.batches = self._batches(self.encoded)
        self.feed = Feed(self.batches, machine, settings.accumulate)
        self.valid_pairs = list(valid)
        self.valid = None
        if self.valid_pairs:
            self.valid = self._batches(self._encode(self.valid_pairs, "to validate"))

    def _has_graphs(self) -> bool:
        """Whether CUDA graphs repeat the steps; a remark says so if they can't."""
        obstacles = {
            "--precision float16": self.machine.precision == "float16",
            "several processes": self.machine.world_size > 1,
        }
        found = [name for name, there in obstacles.items() if there]
        if self.machine.record and found:
            self.remarks.append(f"no CUDA graphs in training: not with {', '.join(found)}")
        return self.machine.record is not None and not found

    def _training_step(self) -> TrainingStep:
        here = self.machine
        objective: nn.Module = Objective(self.model, here, self.settings.smoothing)
        return TrainingStep(
            distribute(objective) if here.world_size > 1 else objective,
            self.model,
            self.optimizer,
            self.settings.clip,
            torch.amp.GradScaler(here.device.type, enabled=here.precision == "float16"),
            here.world_size,
            here.record if self.graphs else None,
        )

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
                f"there are no pairs {name}: all {found.empty + found.overlong:,} are empty or have a sentence of more "
                f"than {settings.longest} pieces, which --longest can raise"
            )
        if found.empty or found.overlong:
            self.remarks.append(
                f"left out of the pairs {name}: {found.empty:,} with an empty sentence, "
                f"{found.overlong:,} with a sentence of more than {settings.longest} pieces"
            )
        return found

    def _batches(self, encoded: Encoded) -> Batches:
        return Batches(
            encoded.sources,
            encoded.targets,
            self.settings.tokens,
            self.settings.seed,
            self.machine.multiple,
            few_shapes=self.graphs,
        )

    def _seed(self) -> None:
        """Seed dropout: by the step, and differently in each process."""
        name = f"{self.settings.seed} {self.step} {self.machine.rank if self.step else 0}"
        torch.manual_seed(random.Random(name).getrandbits(32))

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
                work = self.feed.take(self.batch)
                self.step, self.batch = self.step + 1, work.end
                loss = self._gradients(work)
        except Interrupted:
            self.step, self.batch = before
            self.training_step.forget_gradients()
            raise
        self.training_step.update(learning_rate(self.step, self.settings))
        return Step(loss, self.training_step.norm.clone(), work)

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
    def validate(self, valid: Batches) -> tuple[float, str, float]:
        """Mean loss over the tokens of the validation pairs, not smoothed; the quality of greedy translations,
        behind its name."""
        objective = Objective(self.model, self.machine, 0.0).eval()
        total = torch.zeros((), device=self.machine.device)
        tokens = 0
        with self.eagerly():
            for n in range(len(valid)):
                batch = valid[n]
                pair = (x.to(self.machine.device) for x in (batch.source, batch.target))
                total += objective(*pair)
                tokens += batch.tokens
            sources, references = zip(*self.valid_pairs, strict=True)
            written = Translator(self.model, self.tokenizer, self.machine)(sources)
        return total.item() / tokens, *quality(written, references, self.settings)

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
            "scaler": self.training_step.scaler.state_dict(),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, folder: RunFolder) -> None:
        """Go on where the last checkpoint was written, which process 0 reads for all.

        Raises:
            TranslationError: the checkpoint is broken, of another model or of other pairs.
        """
        found = self.machine.share(folder.read() if self.machine.rank == 0 else None)
        if not isinstance(found, dict) or found.keys() != self.state().keys():
            raise TranslationError(f"{folder.last} is no checkpoint of this trainer")
        if found["checksum"] != self.encoded.checksum:
            raise TranslationError(
                f"these are not the pairs that {folder.path} was trained on, so its place among them means "
                "nothing: begin a new run"
            )
        if self.settings.steps < found["step"]:
            raise TranslationError(
                f"--steps {self.settings.steps}: {folder.path} has done {found['step']} already"
            )
        load_weights(self.model, found["model"], folder.last)
        restore(self.optimizer, found["optimizer"])
        self.training_step.scaler.load_state_dict(found["scaler"])
        self.batches.begins = found["begins"]
        for name in ("step", "batch", "seconds", "processor_seconds"):
            setattr(self, name, found[name])
        for name in ("best", "since_best", "checkpoint_due"):
            setattr(self, name, found[name])

    def run(self, folder: RunFolder, show: bool = True) -> None:
        """Train to the last step, with metrics and checkpoints.

        Args:
            folder: where they go; process 0 alone writes.
            show: whether to draw a progress bar.

        Raises:
            Stopped: Ctrl-C or SIGTERM; a checkpoint of the last step is there.
            TranslationError: the loss is no longer a number, or the disk is full.
        """
        with self.stop, progress(show and self.machine.rank == 0) as bar:
            try:
                ended = self.checkpoint_due and self._checkpoint(folder)
                log = Log(self, folder, bar)
                while self.step < self.settings.steps and not ended:
                    ended = self._advance(log)
            except Interrupted:
                if self.machine.rank == 0:
                    folder.save(self.state())
                if self.machine.world_size > 1:
                    distributed.barrier()  # so that none ends before the checkpoint is written
                raise Stopped(
                    f"stopped after step {self.step}; --resume goes on from there"
                ) from None

    def _advance(self, log: Log) -> bool:
        """Do a step and what is due after it; True if training is over since nothing gets better.

        Raises:
            Interrupted: somebody asked to stop, and all steps that are done are in the metrics.
        """
        try:
            step = self.train_step()
        except Interrupted:
            log.measure()
            raise
        log.add(step)
        alone = self.machine.world_size == 1
        due = self._is_due(step.work)
        overdue = alone and time.perf_counter() - log.saved > SAVE_SECONDS
        logged = self.step % self.settings.log_every == 0
        asked = (due or overdue or logged or (alone and self.stop.asked)) and log.measure()
        ended = due and self._checkpoint(log.folder)
        if overdue and not (due or asked):
            log.folder.save(self.state())
        if due or overdue:
            log.saved = time.perf_counter()
        if asked:
            raise Interrupted
        return ended

    def _is_due(self, work: Work) -> bool:
        """Whether a checkpoint follows the step that is done."""
        if self.step == self.settings.steps:
            return True
        every = self.settings.save_every
        return self.step % every == 0 if every else work.ends_epoch

    def _checkpoint(self, folder: RunFolder) -> bool:
        """Validate and save; True if it is time to stop since nothing gets better.

        Raises:
            Interrupted: somebody asked to stop before validation had ended; it is due still.
        """
        self.checkpoint_due = True
        interrupted = self.machine.rank == 0 and not self._save(folder)
        told = torch.tensor([self.since_best, interrupted], device=self.machine.device)
        if self.machine.world_size > 1:
            distributed.broadcast(told, 0)  # the others wait here until all is written
        worse, interrupted = told.tolist()
        if interrupted:
            raise Interrupted
        self.checkpoint_due = False
        return 0 < self.settings.patience <= worse

    def _save(self, folder: RunFolder) -> bool:
        """Validate and save, in process 0; False if somebody asked to stop before validation had ended."""
        best = False
        if self.valid:
            try:
                with self.stop.can_leave(together=False):
                    found = self.validate(self.valid)
            except Interrupted:
                return False
            best = self._judge(*found, folder)
        self.checkpoint_due = False
        folder.save(self.state())
        folder.save_weights(self.step, self.model.state_dict(), self.settings.keep, best)
        return True

    def _judge(self, loss: float, name: str, score: float, folder: RunFolder) -> bool:
        """Note how good the model is; True if it is the best so far."""
        clocks = {"seconds": self.seconds, "processor_seconds": self.processor_seconds}
        found = {"valid_loss": loss, f"valid_{name}": score}
        folder.add({"step": self.step, "batch": self.batch, **clocks, **found})
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
