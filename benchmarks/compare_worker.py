"""One side of benchmarks.compare: does what it is told, with the code of the folder that it runs in.

It is a script and imports nothing that only one of the two commits has.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from translation import data, machine, trainer
from translation.decoding import Translator
from translation.model import build
from translation.run_folder import RunFolder
from translation.settings import complete
from translation.tokenizer import Tokenizer


class Parts:
    """Adds up the seconds of the parts of a trainer's steps.

    Args:
        run: of either commit.
    """

    def __init__(self, run: trainer.Trainer) -> None:
        self.seconds = dict.fromkeys(("forward", "loss", "backward", "optimizer"), 0.0)
        names = ("linear_cross_entropy", "smoothed_cross_entropy")
        # earlier commits have no module of the objective, and the loss is the trainer's
        module = sys.modules.get("translation.objective", trainer)
        loss = next(name for name in names if hasattr(module, name))
        setattr(module, loss, self._timed("loss", getattr(module, loss)))
        torch.Tensor.backward = self._timed("backward", torch.Tensor.backward)
        torch.optim.AdamW.step = self._timed("optimizer", torch.optim.AdamW.step)
        forward = getattr(getattr(run, "training_step", run), "objective", run.model)
        self.nested = forward is not run.model  # whether it computes the loss, too
        forward.forward = self._timed("forward", forward.forward)

    def _timed(self, name: str, function: Callable) -> Callable:
        def timed(*arguments, **more):
            begun = time.perf_counter()
            try:
                return function(*arguments, **more)
            finally:
                self.seconds[name] += time.perf_counter() - begun

        return timed

    def take(self) -> dict[str, float]:
        """The seconds since the last time; the loss is no part of forward."""
        taken = dict(self.seconds)
        if self.nested:
            taken["forward"] -= taken["loss"]
        self.seconds.update(dict.fromkeys(self.seconds, 0.0))
        return taken


def measured(work: int, wall: float, processor: float, parts: dict[str, float]) -> None:
    """Tell what was done in which time."""
    told = {"work": work, "wall": wall, "processor": processor, "parts": parts}
    print(json.dumps(told), flush=True)


def main() -> None:
    """Read the task, then do it once for each line on standard input."""
    task = json.loads(sys.argv[1])
    torch.set_num_threads(task["threads"])
    if hasattr(machine, "keep_freed_memory"):  # earlier commits lack it
        machine.keep_freed_memory()
    here = machine.choose("cpu", precision=task["precision"])
    usual = complete({})
    known = usual if isinstance(usual, dict) else dataclasses.asdict(usual)  # a dict earlier
    settings = complete({k: v for k, v in task["settings"].items() if k in known})
    tokenizer = Tokenizer(Path(task["tokenizer"]).read_bytes())
    if task["beam"]:
        model = build(settings, len(tokenizer), "fused")
        weights, _ = RunFolder(task["run"]).trained_weights()
        model.load_state_dict(model.state_dict() | weights)
        translator = Translator(model, tokenizer, here)
        pairs = data.load(settings, task["split"])
        texts = [source for source, _ in pairs][:1000]
    else:
        run = trainer.Trainer(settings, here, tokenizer, list(data.load(settings, "train")), [])
        parts = Parts(run)
    print("ready", flush=True)
    for line in sys.stdin:
        wall, processor = time.perf_counter(), time.process_time()
        if task["beam"]:
            written = translator(texts, task["beam"], task["alpha"])
            work = len(written)
        else:
            found = [run.train_step()[2] for _ in range(int(line))]
            work = sum(getattr(one, "tokens", one) for one in found)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        if task["beam"]:
            Path(task["output"]).write_text("\n".join(written), encoding="utf-8")
        taken = {} if task["beam"] else parts.take()
        measured(work, wall, processor, taken)  # what was translated is there when this is read
    os._exit(0)


if __name__ == "__main__":
    main()
