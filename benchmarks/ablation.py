"""What each part of the Multi30k recipe is worth: BLEU on the validation pairs at a fixed budget.

python -m benchmarks.ablation --data DIR --folder ablations
python -m benchmarks.ablation --data DIR --folder ablations --jobs 2 --threads 1
python -m benchmarks.ablation --data DIR --folder ablations --only AdamW "6 layers"

Each variant differs from the reference in what its name says, and learns from as many tokens, 8 million
unless told otherwise, at the reference's learning rate, which was not tuned for each. Variants whose BLEU
differs from the reference's by less than 0.5 get a second seed, and so does the reference then. Runs that
the table has already are not trained again, and one that was interrupted is resumed. A table of another
budget or of other settings is replaced. The test pairs are never read. Everything else on the line goes to
the trainer.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.record import provenance, save
from translation import data, machine
from translation.__main__ import main as trainer
from translation.command_line import settings_of
from translation.decoding import Translator
from translation.evaluation import quality
from translation.model import n_parameters
from translation.run_folder import RunFolder
from translation.settings import Settings
from translation.tokenizer import learn
from translation.trainer import Trainer

REFERENCE = "reference"
BASE = [
    *("--task=multi30k", "--vocab-size=4000", "--norm-first", "--dropout=0.2", "--clip=1"),
    *("--optimizer=muon", "--rate=4e-3", "--warmup=100", "--schedule=cosine", "--ema=0.99"),
    *("--accumulate=1", "--patience=0"),
]
VARIANTS: dict[str, list[str]] = {
    REFERENCE: [],
    "AdamW": ["--optimizer=adam"],
    "norm after each sublayer": ["--no-norm-first"],
    "inverse square root schedule": ["--schedule=noam"],
    "no moving average": ["--ema=0"],
    "twice the batch": ["--accumulate=2"],
    "10,000 pieces": ["--vocab-size=10000"],
    "6 layers": ["--layers=6"],
    "dropout 0.1": ["--dropout=0.1"],
    "dropout 0.3": ["--dropout=0.3"],
    "attention dropout 0.1": ["--attention-dropout=0.1"],
    "activation dropout 0.1": ["--activation-dropout=0.1"],
    "subword dropout 0.1": ["--subword-dropout=0.1"],
    "R-Drop, weight 5": ["--rdrop=5"],  # two passes over each token, so twice the time
    "clip 25": ["--clip=25"],
    "weight decay 0.01": ["--weight-decay=0.01"],
}
CLOSE = 0.5
TABLE = Path(__file__).with_suffix(".json")


def steps_of(words: list[str], tokens: float) -> int:
    """How many steps learn from that many tokens, with the settings on a command line of the trainer."""
    settings = settings_of(["train", *words])
    pairs = data.load(settings, "train")
    texts = (text for pair in pairs for text in pair)
    tokenizer = learn(texts, settings.vocab_size, settings.pieces)
    batches = Trainer(settings, machine.choose("cpu"), tokenizer, pairs, []).batches
    epoch = sum(batches.predicted(n) for n in range(len(batches)))
    return round(tokens * len(batches) / epoch / settings.accumulate)


def train(path: Path, words: list[str], tokens: float) -> dict:
    """Train a variant, or go on; what came of it on the validation pairs.

    Args:
        path: folder of the run.
        words: settings on a command line of the trainer.
        tokens: from how many it learns.
    """
    folder = RunFolder(path)
    if folder.last.exists():
        status = trainer(["train", "--folder", str(path), "--resume", *words])
    else:
        steps = steps_of(words, tokens)
        more = [f"--steps={steps}", f"--save-every={math.ceil(steps / 4)}"]
        status = trainer(["train", "--folder", str(path), *words, *more])
    if status:
        raise SystemExit(status)
    return outcome(folder, folder.settings()) | provenance()


def outcome(folder: RunFolder, settings: Settings) -> dict:
    """What a run has come to on the validation pairs, and what it has cost."""
    sources, references = zip(*data.load(settings, "valid"), strict=True)
    translator = Translator.load(folder, machine.choose("auto", precision="float32").take())
    written = translator(sources, beam=5, alpha=1.0, refill=True)
    last = folder.measured()[-1]
    return {
        "seed": settings.seed,
        "valid_bleu": quality(written, references, settings)[1],
        "greedy_valid_bleu": last["valid_bleu"],
        "valid_loss": last["valid_loss"],
        "steps": settings.steps,
        "processor_minutes": round(last["processor_seconds"] / 60, 1),
        "parameters": n_parameters(translator.model),
    }


def stored(budget: float, settings: list[str]) -> dict[tuple[str, int], dict]:
    """The runs of the saved table by variant and seed, if they are of this budget and of these settings of
    the reference."""
    if not TABLE.exists():
        return {}
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    if (table["tokens_of_a_run"], table["settings_of_reference"]) != (budget, settings):
        return {}
    return {
        (name, run["seed"]): run
        for name, one in table["variants"].items()
        if one["changed"] == VARIANTS.get(name)
        for run in one["runs"]
    }


def undecided(found: dict[str, dict]) -> list[str]:
    """The variants whose BLEU is so close to the reference's that they need a second seed, and with them
    the reference."""
    bleu = {name: one["valid_bleu"] for name, one in found.items()}
    close = [name for name in found if abs(bleu[name] - bleu[REFERENCE]) < CLOSE]
    return close if close != [REFERENCE] else []


def main() -> None:
    """Train what is missing and save the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--data", required=True, help="folder of Multi30k's files")
    parser.add_argument("--folder", required=True, help="where the runs are kept")
    parser.add_argument("--budget", type=float, default=8e6, help="tokens of a run (default 8e6)")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side (default 1)")
    arguments, more = parser.parse_known_args()
    settings = [*BASE, *more]
    runs = stored(arguments.budget, settings)
    wanted = {REFERENCE, *arguments.only, *(name for name, _ in runs)}
    names = [name for name in VARIANTS if name in wanted]
    # a process for each run, since the trainer sets threads, seeds and signals for its whole process
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, fresh, max_tasks_per_child=1) as pool:

        def train_all(names: list[str], seed: int) -> None:
            running = {
                name: pool.submit(
                    train,
                    Path(arguments.folder) / f"{name.replace(' ', '-').replace(',', '')}-{seed}",
                    [*settings, *VARIANTS[name], f"--data={arguments.data}", f"--seed={seed}"],
                    arguments.budget,
                )
                for name in names
            }
            runs.update({(name, seed): future.result() for name, future in running.items()})

        train_all([name for name in names if (name, 0) not in runs], 0)
        close = undecided({name: runs[name, 0] for name in names})
        missing = [name for name in close if (name, 1) not in runs]
        _save(arguments.budget, settings, runs, missing)  # a second seed takes hours more
        if missing:
            train_all(missing, 1)
            _save(arguments.budget, settings, runs, [])


def _save(
    budget: float, settings: list[str], runs: dict[tuple[str, int], dict], missing: list[str]
) -> None:
    """Save what the runs, by variant and seed, have come to, and which variants need a second seed still."""
    table = {}
    for name, changed in VARIANTS.items():
        if own := [runs[name, seed] for seed in (0, 1) if (name, seed) in runs]:
            table[name] = {
                "changed": changed,
                "mean_valid_bleu": statistics.mean(run["valid_bleu"] for run in own),
                "runs": own,
            }
    measured = {
        "tokens_of_a_run": budget,
        "settings_of_reference": settings,
        "need_a_second_seed": missing,
        "variants": table,
    }
    save(__file__, measured)


if __name__ == "__main__":
    main()
