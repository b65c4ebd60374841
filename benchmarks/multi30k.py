"""Multi30k, Test2016: BLEU of one training run a seed.

python -m benchmarks.multi30k --data DIR                                        English to German
python -m benchmarks.multi30k --data DIR --source-language de --target-language en      and back
python -m benchmarks.multi30k --data DIR --runs RUN [RUN ...]            runs that are there already
python -m benchmarks.multi30k --data DIR --runs RUN --name hour          a result beside the others
python -m benchmarks.multi30k --data DIR --average 10 --alphas 1         as in that paper, nothing chosen

English to German has the setting of Transformer-Tiny (Wu et al. 2021, arXiv 2105.14462): at most 2.7 M
parameters and a beam of 5. German to English has a model of at most 9 M parameters and greedy search.
Everything else on the line goes to the trainer, such as --device or --steps.

Which checkpoints are averaged and how the beam is set is chosen on the validation pairs. The test pairs
are translated once, after that. The paper takes the mean of the last ten checkpoints and divides by the
length (fairseq, --lenpen 1): with --average 10 --alphas 1, so does this, and nothing is chosen.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.record import save
from translation import data, machine
from translation.__main__ import main as trainer
from translation.decoding import Translator
from translation.evaluation import quality, scores
from translation.machine import Machine
from translation.model import n_parameters
from translation.run_folder import RunFolder
from translation.settings import Settings

TRAIN = {
    "en": [],
    "de": ["--d-model=256", "--layers=3", "--d-ff=512", "--heads=8", "--rate=2e-3"],
}
ALPHAS = (0.4, 0.7, 1.0, 1.4, 2.0)


@dataclasses.dataclass(frozen=True)
class Choice:
    """How to translate: the mean of so many checkpoints or the best one, and how to search."""

    average: int
    best: bool
    beam: int
    alpha: float
    refill: bool


def translated(
    folder: RunFolder, here: Machine, choice: Choice, settings: Settings, split: str
) -> tuple:
    """The translations of a split and its references."""
    sources, references = zip(*data.load(settings, split), strict=True)
    translator = Translator.load(folder, here, choice.average, choice.best)
    return translator(sources, choice.beam, choice.alpha, choice.refill), references


def choose(
    folder: RunFolder,
    here: Machine,
    settings: Settings,
    beam: int,
    alphas: Sequence[float] = ALPHAS,
    average: int | None = None,
) -> tuple[Choice, dict]:
    """The choice with the highest BLEU on the validation pairs, and the BLEU of all."""
    many = min(average or 10, len(folder.weights()))
    kinds = [(many, False)] if average else [(1, False), (many, False), (1, True)]
    searches = [(alpha, True) for alpha in alphas] if beam > 1 else [(0.0, False)]
    choices = [
        Choice(average, best, beam, alpha, refill)
        for average, best in dict.fromkeys(kinds)
        for alpha, refill in searches
    ]
    found = {
        choice: quality(*translated(folder, here, choice, settings, "valid"), settings)[1]
        for choice in choices
    }
    return max(found, key=found.get), found


def origins(folder: RunFolder) -> list[RunFolder]:
    """The runs whose weights a run continues with, the earliest first, and the run itself."""
    # runs made before this setting lack it
    origin = folder.settings().init_from
    return [*(origins(RunFolder(origin)) if origin else []), folder]


def ancestry(folder: RunFolder) -> list[RunFolder]:
    """All runs that a run needed, teachers included, each after those that it needed itself; the run last."""
    settings, found = folder.settings(), {}
    for path in filter(None, [*settings.distill_from, settings.init_from]):
        found |= {one.path.resolve(): one for one in ancestry(RunFolder(path))}
    return [*found.values(), folder]


def training(folder: RunFolder) -> dict:
    """What a model has cost, with all runs that it needed, and the curve of its scores.

    Seconds are counted as if one run had followed the other. A point of the curve has the number of its
    run, from 1, and of the steps that the model's weights have had.
    """
    steps, seconds, processor_seconds, curve = 0, 0.0, 0.0, []
    continued = {one.path.resolve() for one in origins(folder)}
    for number, one in enumerate(ancestry(folder), 1):
        lines = one.measured()
        if one.path.resolve() in continued:
            curve += [
                {
                    "run": number,
                    "step": steps + line["step"],
                    "minutes": round((seconds + line["seconds"]) / 60, 2),
                    "processor_minutes": round(
                        (processor_seconds + line["processor_seconds"]) / 60, 2
                    ),
                    "valid_loss": line["valid_loss"],
                    "greedy_valid_bleu": line["valid_bleu"],
                }
                for line in lines
                if "valid_bleu" in line
            ]
            steps += lines[-1]["step"]
        seconds += max(line["seconds"] for line in lines)
        processor_seconds += max(line["processor_seconds"] for line in lines)
    return {
        "training_seconds": seconds,
        "training_processor_seconds": processor_seconds,
        "curve": curve,
    }


def stored_settings(folders: list[RunFolder]) -> list[dict]:
    """The settings of runs, whose folders are called runs/pair1 and so on in them: places of files belong
    to one machine."""
    names = {one.path.resolve(): f"runs/pair{number}" for number, one in enumerate(folders, 1)}
    found = []
    for one in folders:
        settings = one.settings().to_json()
        del settings["data"]
        if settings["init_from"]:
            settings["init_from"] = names[Path(settings["init_from"]).resolve()]
        teachers = settings["distill_from"]
        settings["distill_from"] = [names[Path(path).resolve()] for path in teachers]
        found.append(settings)
    return found


def score(
    path: Path,
    place: str,
    here: Machine,
    alphas: Sequence[float] = ALPHAS,
    average: int | None = None,
) -> dict:
    """BLEU of a run on the test pairs, with what was chosen on the validation pairs.

    Args:
        path: folder of the run.
        place: folder of Multi30k's files.
        here: what to translate on.
        alphas: the length penalties to choose from.
        average: the mean of so many checkpoints; None = what is best on the validation pairs.
    """
    folder = RunFolder(path)
    settings = dataclasses.replace(folder.settings(), data=place)
    beam = 5 if settings.source_language == "en" else 1
    choice, found = choose(folder, here, settings, beam, alphas, average)
    valid = scores(*translated(folder, here, choice, settings, "valid"), settings)
    written, references = translated(folder, here, choice, settings, "test")
    *earlier, own = stored_settings(ancestry(folder))
    return {
        "seed": settings.seed,
        **scores(written, references, settings),
        "parameters": n_parameters(Translator.load(folder, here).model),
        "chosen_on_validation_pairs": dataclasses.asdict(choice),
        "valid_bleu": [dataclasses.asdict(one) | {"bleu": value} for one, value in found.items()],
        "valid_scores_of_choice": valid,
        **training(folder),
        "settings": own,
        "settings_of_earlier_runs": earlier,
    }


def train(seed: int, path: Path, language: str, more: list[str]) -> Path:
    """Train with one seed; the run's folder."""
    words = ["train", "--task=multi30k", "--folder", str(path), f"--seed={seed}"]
    status = trainer([*words, *TRAIN[language], *more])
    if status:
        raise SystemExit(status)
    return path


def add_alphas(parser: argparse.ArgumentParser) -> None:
    """The option for the length penalties of `score`."""
    text = "length penalties to choose from on the validation pairs; one alone is fixed beforehand"
    parser.add_argument("--alphas", type=float, nargs="+", default=ALPHAS, help=text)


def main() -> None:
    """Train with each seed, or take runs that are there; report mean and spread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--data", required=True, help="folder with " + data.MULTI30K_RECIPE.partition(";")[0]
    )
    parser.add_argument("--source-language", default="en", choices=("en", "de"))
    parser.add_argument("--target-language", default="de", choices=("en", "de"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", nargs="+", help="folders of runs that are there already")
    add_alphas(parser)
    parser.add_argument(
        "--average",
        type=int,
        help="mean of so many checkpoints (default: chosen, like the penalty)",
    )
    text = "ends the result's file name; without it, the result of these languages is replaced"
    parser.add_argument("--name", help=text)
    arguments, more = parser.parse_known_args()
    more += ["--data", arguments.data, "--device", arguments.device]
    more += ["--source-language", arguments.source_language]
    more += ["--target-language", arguments.target_language]
    here = machine.choose(arguments.device, precision="float32").take()
    with tempfile.TemporaryDirectory() as folder:
        paths = list(map(Path, arguments.runs or [])) or [
            train(seed, Path(folder) / str(seed), arguments.source_language, more)
            for seed in arguments.seeds
        ]
        runs = [
            score(path, arguments.data, here, arguments.alphas, arguments.average) for path in paths
        ]
    measured: dict = {"runs": runs, "test": "test_2016_flickr"}
    for name in ("bleu_tokenised", "bleu", "training_seconds", "training_processor_seconds"):
        found = [run[name] for run in runs if name in run]
        if found:
            measured[f"mean_{name}"] = statistics.mean(found)
            measured[f"deviation_{name}"] = statistics.stdev(found) if len(found) > 1 else None
    languages = runs[0]["settings"]
    words = [languages["source_language"], languages["target_language"], arguments.name]
    save(__file__, measured, "".join(f"_{word}" for word in words if word))


if __name__ == "__main__":
    main()
