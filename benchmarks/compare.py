"""Training steps and beam search of this commit beside those of another one.

python -m benchmarks.compare --before COMMIT --data DIR                      steps, in tokens a second
python -m benchmarks.compare --before COMMIT --task numbers                  those of number words
python -m benchmarks.compare --before COMMIT --data DIR --run RUN            beam search, in sentences

Both sides are processes of their own that take turns, on the same batches, with the same model, and every
number is the median of the rounds. Processor seconds are those of the process, so that other work on the
machine counts less; the load is written down. Steps have the batches of the task's recipe and come with
where their time goes. A beam search translates a thousand sentences.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.record import save
from translation import data
from translation.run_folder import RunFolder
from translation.settings import complete
from translation.tokenizer import learn

WORKER = Path(__file__).with_name("compare_worker.py")


class Side:
    """A process with the code of one commit.

    Args:
        code: the folder with the commit's files.
        task: what `compare_worker` reads.
    """

    def __init__(self, code: Path, task: dict) -> None:
        environment = os.environ | {"PYTHONPATH": str(code)}
        environment["OMP_NUM_THREADS"] = str(task["threads"])
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER), json.dumps(task)],
            cwd=code,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._line()

    def _line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"one side has ended: {self.process.wait()}")
        return line

    def __call__(self, count: int) -> dict[str, float]:
        """Do a round of so many steps, or translate everything; work, wall and processor seconds."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return json.loads(self._line())

    def end(self) -> None:
        """Let it end."""
        self.process.stdin.close()
        self.process.wait()


def code_of(commit: str, folder: Path) -> Path:
    """The files of a commit, in a folder."""
    folder.mkdir()
    packed = subprocess.run(
        ["git", "archive", commit, "solutions"], check=True, capture_output=True
    )
    subprocess.run(["tar", "x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder


def speeds(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Median work a second, by both clocks."""
    return {
        clock: statistics.median(one["work"] / one[clock] for one in rounds)
        for clock in ("wall", "processor")
    }


def milliseconds(rounds: list[dict], steps: int) -> dict[str, float]:
    """Where the time of a step goes, by the clock on the wall, medians. The loss is with the gradient of
    the last layer where one function computes both; otherwise that is a part of backward."""
    parts = {
        name: statistics.median(1000 * one["parts"][name] / steps for one in rounds)
        for name in rounds[0]["parts"]
    }
    whole = statistics.median(1000 * one["wall"] / steps for one in rounds)
    return parts | {"rest": whole - sum(parts.values())}


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, help="the other commit")
    parser.add_argument("--task", default="multi30k", choices=("multi30k", "numbers"))
    parser.add_argument("--data", default="", help="multi30k: folder of its files")
    parser.add_argument("--precision", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--run", help="a run, to measure the beam search with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4, help="steps of a round (default 4)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, help="of a batch (default: the recipe's)")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=0.6)
    arguments = parser.parse_args()
    root = Path(__file__).parent.parent
    place = str(Path(arguments.data).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = code_of(arguments.before, folder / "before")
        task = {"threads": arguments.threads, "beam": 0, "precision": "float32"}
        if arguments.run:
            run = RunFolder(arguments.run)
            task |= {
                "beam": arguments.beam,
                "alpha": arguments.alpha,
                "run": str(run.path.resolve()),
            }
            task["settings"] = run.settings().to_json() | {"data": place}
            # numbers have no validation pairs, and nothing is chosen here
            task["split"] = "test" if task["settings"]["task"] == "numbers" else "valid"
            task["tokenizer"] = str(run.path.resolve() / "tokenizer.model")
            kinds = {"before": (before, "float32"), "now": (root, "float32")}
        else:
            given: dict = {"task": arguments.task, "data": place, "accumulate": 1}
            if arguments.tokens:
                given["tokens"] = arguments.tokens
            settings = complete(given | {"save_every": 1000})
            if (
                arguments.task == "multi30k"
            ):  # early commits drop inside the feed-forward networks, too
                settings = dataclasses.replace(settings, activation_dropout=0.3)
            task["settings"] = settings.to_json()
            texts = (text for pair in data.load(settings, "train") for text in pair)
            tokenizer = learn(texts, settings.vocab_size, settings.pieces)
            (folder / "tokenizer").write_bytes(tokenizer.model)
            task["tokenizer"] = str(folder / "tokenizer")
            kinds = {
                side if precision == "float32" else f"{side}, {precision}": (code, precision)
                for precision in arguments.precision
                for side, code in (("before", before), ("now", root))
            }
        sides = {
            name: Side(code, task | {"precision": precision, "output": str(folder / f"{name}.txt")})
            for name, (code, precision) in kinds.items()
        }
        found: dict[str, list] = {name: [] for name in sides}
        load = [os.getloadavg()[0]]
        for number in range(arguments.rounds + 1):
            for name, side in sides.items():
                one = side(arguments.steps)
                if number or (arguments.run and arguments.rounds == 1):  # the first warms up
                    found[name].append(one)
            load.append(os.getloadavg()[0])
        same = None
        if arguments.run:
            same = (
                len({(folder / f"{name}.txt").read_text(encoding="utf-8") for name in sides}) == 1
            )
        for side in sides.values():
            side.end()
    result = {name: speeds(rounds) for name, rounds in found.items()}
    first, *others = result
    times = {
        name: {clock: result[name][clock] / result[first][clock] for clock in result[first]}
        for name in others
    }
    measured = {
        "work_a_second": result,
        "times_as_fast_as_before": times,
        "before": arguments.before,
        "load_averages": load,
        "threads": arguments.threads,
        "rounds": arguments.rounds,
    }
    if arguments.run:
        measured |= {
            "task": task["settings"]["task"],
            "beam": arguments.beam,
            "same_translations": same,
        }
    else:
        measured |= {
            "milliseconds_of_a_step": {
                name: milliseconds(rounds, arguments.steps) for name, rounds in found.items()
            },
            "task": arguments.task,
            "tokens_of_a_batch": settings.tokens,
        }
    about = "beam" if arguments.run else arguments.task
    save(__file__, measured, "" if about == "multi30k" else f"_{about}")


if __name__ == "__main__":
    main()
