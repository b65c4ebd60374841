"""Multi30k, Test2016: BLEU of one training run a seed.

python -m benchmarks.multi30k --data DIR                                        English to German
python -m benchmarks.multi30k --data DIR --source-language de --target-language en      and back

English to German has the setting of Transformer-Tiny (Wu et al. 2021, arXiv 2105.14462): at most 2.7 M
parameters, the mean of the last ten checkpoints, a beam of 5. German to English has a model of
at most 9 M parameters and greedy search. Everything else on the line goes to the trainer, such as
--device or --steps; nothing is chosen on the test set.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from benchmarks.record import save
from solutions.translation import data, machine
from solutions.translation.__main__ import main as trainer
from solutions.translation.decoding import Translator
from solutions.translation.evaluation import bleu, scores
from solutions.translation.model import n_parameters
from solutions.translation.run_folder import RunFolder

CLOCKS = ("seconds", "processor_seconds")
SETTINGS = {
    "en": {"beam": 5, "average": 10, "alpha": 1.0, "train": []},
    "de": {
        "beam": 1,
        "average": 1,
        "alpha": 0.0,
        "train": ["--d-model=256", "--layers=3", "--d-ff=512", "--heads=8", "--rate=2e-3"],
    },
}


def measure(seed: int, path: Path, setting: dict, more: list[str], device: str) -> dict:
    """Train with one seed; BLEU of the final weights, and greedy BLEU of the checkpoints on the way."""
    words = ["train", "--task=multi30k", "--folder", str(path), f"--seed={seed}"]
    status = trainer([*words, "--device", device, *setting["train"], *more])
    if status:
        raise SystemExit(status)
    folder = RunFolder(path)
    settings = folder.settings()
    sources, references = map(list, zip(*data.load(settings, "test"), strict=True))
    here = machine.choose(device)
    average = min(setting["average"], len(folder.weights()))
    translator = Translator.load(folder, here, average)
    written = translator(sources, setting["beam"], setting["alpha"])
    times = {line["step"]: line for line in folder.measured() if "seconds" in line}
    curve = []
    for weights in folder.weights():
        translator.model.load_state_dict(folder.read(weights))
        step = int(weights.stem.split("-")[1])
        score, _ = bleu(
            translator(sources), references, "none" if settings["text"] != "raw" else "13a"
        )
        minutes = {name: round(times[step][name] / 60, 2) for name in CLOCKS}
        curve.append({"step": step, "minutes": minutes, "greedy_bleu": score})
    return {
        "seed": seed,
        **scores(written, references, settings),
        "parameters": n_parameters(translator.model),
        "training_seconds": max(line["seconds"] for line in times.values()),
        "averaged_checkpoints": average,
        "beam": setting["beam"],
        "curve": curve,
        "settings": settings,
    }


def main() -> None:
    """Train with each seed; report mean and spread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--data", required=True, help="folder of the original files")
    parser.add_argument("--source-language", default="en", choices=("en", "de"))
    parser.add_argument("--target-language", default="de", choices=("en", "de"))
    parser.add_argument("--device", default="auto")
    arguments, more = parser.parse_known_args()
    more += ["--data", arguments.data, "--source-language", arguments.source_language]
    more += ["--target-language", arguments.target_language]
    setting = SETTINGS[arguments.source_language]
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            measure(seed, Path(folder) / str(seed), setting, more, arguments.device)
            for seed in arguments.seeds
        ]
    for run in runs:
        run["settings"].pop("data")  # a place on one machine
    measured: dict = {"runs": runs, "test": "test_2016_flickr"}
    for name in ("bleu_tokenised", "bleu", "training_seconds"):
        found = [run[name] for run in runs if name in run]
        if found:
            measured[f"mean_{name}"] = statistics.mean(found)
            measured[f"deviation_{name}"] = statistics.stdev(found) if len(found) > 1 else None
    direction = f"_{arguments.source_language}_{arguments.target_language}"
    save(__file__, measured, direction)


if __name__ == "__main__":
    main()
