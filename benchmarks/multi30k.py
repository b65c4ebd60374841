"""Multi30k, Test2016: BLEU of the published recipe, one training run a seed.

python -m benchmarks.multi30k --data DIR
python -m benchmarks.multi30k --data DIR --runs RUN [RUN ...]            runs that are there already

The recipe is that of Transformer-Tiny (Wu et al. 2021, arXiv 2105.14462), from English to German: the mean of
the last ten checkpoints, a beam of 5, and scores divided by the length (fairseq, --lenpen 1). Nothing is
chosen. Everything else on the line goes to the trainer, such as --device or --steps.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import tempfile
from pathlib import Path

from benchmarks.record import save
from translation import data, machine
from translation.__main__ import main as trainer
from translation.decoding import Translator
from translation.evaluation import scores
from translation.machine import Machine
from translation.model import n_parameters
from translation.run_folder import RunFolder

SEARCH = {"beam": 5, "alpha": 1.0, "refill": True}
SHOWN = (
    "bleu_tokenised",
    "precisions_tokenised",
    "brevity_penalty_tokenised",
    "signature_tokenised",
)


def recipe(folder: RunFolder, here: Machine) -> Translator:
    """The translator of a run with the mean of its last ten checkpoints, or of all if it has fewer."""
    return Translator.load(folder, here, min(10, len(folder.weights())))


def score(path: Path, place: str, here: Machine) -> dict:
    """BLEU of a run on the test pairs, what it has cost, and the curve of its scores on validation pairs.

    Args:
        path: folder of the run.
        place: folder of Multi30k's files.
        here: what to translate on.
    """
    folder = RunFolder(path)
    settings = dataclasses.replace(folder.settings(), data=place)
    translator = recipe(folder, here)
    sources, references = zip(*data.load(settings, "test"), strict=True)
    found = scores(translator(sources, **SEARCH), references, settings)
    lines = folder.measured()
    return {
        "seed": settings.seed,
        **{name: found[name] for name in SHOWN},
        "parameters": n_parameters(translator.model),
        "training_seconds": max(line["seconds"] for line in lines),
        "settings": {
            name: getattr(settings, name) for name in ("steps", "schedule", "dropout", "smoothing")
        },
        "curve": [
            {
                "step": line["step"],
                "minutes": round(line["seconds"] / 60, 2),
                "valid_loss": line["valid_loss"],
                "greedy_valid_bleu": line["valid_bleu"],
            }
            for line in lines
            if "valid_bleu" in line
        ],
    }


def train(seed: int, path: Path, more: list[str]) -> Path:
    """Train with one seed; the run's folder."""
    status = trainer(["train", "--task=multi30k", "--folder", str(path), f"--seed={seed}", *more])
    if status:
        raise SystemExit(status)
    return path


def main() -> None:
    """Train with each seed, or take runs that are there, and save their scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--data", required=True, help="folder with " + data.MULTI30K_RECIPE.partition(";")[0]
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", nargs="+", help="folders of runs that are there already")
    arguments, more = parser.parse_known_args()
    more += ["--data", arguments.data, "--device", arguments.device]
    here = machine.choose(arguments.device, precision="float32").take()
    with tempfile.TemporaryDirectory() as folder:
        paths = list(map(Path, arguments.runs or [])) or [
            train(seed, Path(folder) / str(seed), more) for seed in arguments.seeds
        ]
        runs = [score(path, arguments.data, here) for path in paths]
    mean = statistics.mean(run["bleu_tokenised"] for run in runs)
    save(__file__, {"runs": runs, "mean_bleu_tokenised": mean})


if __name__ == "__main__":
    main()
