"""English number words into German: exact match on held-out numbers after one training run a seed.

python -m benchmarks.numbers

There are two kinds of run: the default of `python -m translation train`, and a longer one. The
weights are those of the last step; held-out numbers are looked at once, afterwards. Seconds are those of
the whole command but for Python's start: data, vocabulary, training, and translating the held-out
numbers. Two cores are used.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.record import save
from translation import data, machine
from translation.__main__ import main as trainer
from translation.decoding import Translator
from translation.evaluation import exact_match
from translation.run_folder import RunFolder

KINDS = {"default": [], "2,000 steps": ["--steps=2000", "--warmup=200", "--save-every=250"]}


def measure(seed: int, path: Path, more: list[str]) -> dict:
    """Train with one seed; seconds, processor seconds, and exact match by number of digits."""
    wall, processor = time.perf_counter(), time.process_time()
    status = trainer(["train", "--folder", str(path), "--device=cpu", f"--seed={seed}", *more])
    if status:
        raise SystemExit(status)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    folder = RunFolder(path)
    settings = folder.settings()
    pairs = data.load(settings, "test")
    numbers = settings.below, settings.examples, settings.held_out, settings.seed
    digits = [len(str(number)) for number in data.split_numbers(*numbers)[1]]
    written = Translator.load(folder, machine.choose("cpu"))([source for source, _ in pairs])
    right = [target for _, target in pairs]
    by_digits = {}
    for count in sorted(set(digits)):
        places = [place for place, found in enumerate(digits) if found == count]
        by_digits[count] = exact_match([written[n] for n in places], [right[n] for n in places])
    return {
        "seed": seed,
        "exact_match": exact_match(written, right),
        "exact_match_by_digits": by_digits,
        "training_seconds": folder.measured()[-1]["seconds"],
        "seconds": wall,
        "processor_seconds": processor,
        "steps": settings.steps,
    }


def summary(runs: list[dict]) -> dict:
    """Mean and worst exact match of some runs, the longest time, and the runs."""
    found = [run["exact_match"] for run in runs]
    return {
        "mean_exact_match": statistics.mean(found),
        "worst_exact_match": min(found),
        "most_seconds": max(run["seconds"] for run in runs),
        "most_processor_seconds": max(run["processor_seconds"] for run in runs),
        "runs": runs,
    }


def main() -> None:
    """Train both kinds with each seed and report them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2, help="cores to use (default 2)")
    arguments, more = parser.parse_known_args()  # the rest goes to the trainer
    torch.set_num_threads(arguments.threads)
    more += ["--threads", str(arguments.threads)]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        kinds = {
            name: summary(
                [
                    measure(seed, Path(folder) / f"{number}-{seed}", [*words, *more])
                    for seed in arguments.seeds
                ]
            )
            for number, (name, words) in enumerate(KINDS.items())
        }
    about = {"threads": arguments.threads, "load_averages": [load, os.getloadavg()[0]]}
    save(__file__, kinds | about)


if __name__ == "__main__":
    main()
