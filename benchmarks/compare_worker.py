"""One side of benchmarks.compare: does what it is told, with the code of the folder that it runs in.

It is a script and imports nothing that only one of the two commits has.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch

from solutions.translation import data, machine, trainer
from solutions.translation.decoding import Translator
from solutions.translation.model import build
from solutions.translation.run_folder import RunFolder
from solutions.translation.settings import complete
from solutions.translation.tokenizer import Tokenizer


def measured(work: int, wall: float, processor: float) -> None:
    """Tell what was done in which time."""
    print(json.dumps({"work": work, "wall": wall, "processor": processor}), flush=True)


def main() -> None:
    """Read the task, then do it once for each line on standard input."""
    task = json.loads(sys.argv[1])
    torch.set_num_threads(task["threads"])
    here = machine.choose("cpu", precision=task["precision"])
    settings = complete({k: v for k, v in task["settings"].items() if k in complete({})})
    tokenizer = Tokenizer(Path(task["tokenizer"]).read_bytes())
    if task["beam"]:
        model = build(task["settings"], len(tokenizer), "fused")
        weights, _ = RunFolder(task["run"]).trained_weights()
        model.load_state_dict(model.state_dict() | weights)
        translator = Translator(model, tokenizer, here)
        pairs = data.load(task["settings"], task["split"])
        texts = [source for source, _ in pairs][:1000]
    else:
        run = trainer.Trainer(settings, here, tokenizer, list(data.load(settings, "train")), [])
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
        measured(work, wall, processor)  # what was translated is there when this is read
    os._exit(0)


if __name__ == "__main__":
    main()
