"""Training steps of two processes that share the gradients beside one process with two threads.

python -m benchmarks.processes --data DIR

All train on Multi30k with its recipe, on as many tokens a step; two processes take one of the two batches
of a step each. They take turns, each time with a new start. Speeds are those that the trainer measures
itself, target tokens a second by the clock on the wall, without the first steps; medians of the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.record import save
from translation.run_folder import RunFolder

LAUNCH = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
KINDS = {
    "one thread": ([], ["--threads=1", "--accumulate=2"]),
    "two threads": ([], ["--threads=2", "--accumulate=2"]),
    "two processes": (LAUNCH, ["--threads=1", "--accumulate=1"]),
}


def speed(kind: str, path: Path, words: list[str], log_every: int) -> float:
    """Target tokens a second of a short run, from its second look at the clock on.

    Args:
        kind: one of KINDS.
        path: folder for the run.
        words: more arguments of the trainer.
        log_every: steps from look to look.
    """
    launch, own = KINDS[kind]
    command = [sys.executable, *launch, "-m", "translation", "train", "--task=multi30k"]
    command += [
        "--device=cpu",
        f"--folder={path}",
        f"--log-every={log_every}",
        "--save-every=1000000",
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # or torchrun warns that it sets it
    subprocess.run([*command, *own, *words], check=True, env=environment)
    looks = [line["tokens_per_second"] for line in RunFolder(path).measured() if "loss" in line]
    return statistics.mean(looks[1:])


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder of Multi30k's files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12, help="steps of a run (default 12)")
    parser.add_argument("--log-every", type=int, default=4, help="a look each so many steps")
    arguments, more = parser.parse_known_args()  # the rest goes to the trainer
    words = [f"--data={Path(arguments.data).resolve()}", f"--steps={arguments.steps}", *more]
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            for kind, speeds in found.items():
                path = Path(folder) / f"{kind} {number}"
                speeds.append(speed(kind, path, words, arguments.log_every))
            load.append(os.getloadavg()[0])
    medians = {kind: statistics.median(speeds) for kind, speeds in found.items()}
    save(
        __file__,
        {
            "tokens_per_second": medians,
            "processes_to_threads": medians["two processes"] / medians["two threads"],
            "rounds": arguments.rounds,
            "steps": arguments.steps,
            "load_averages": load,
        },
    )


if __name__ == "__main__":
    main()
