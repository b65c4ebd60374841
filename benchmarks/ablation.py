"""What each part of the Multi30k recipe is worth: BLEU on the validation pairs at a fixed budget.

python -m benchmarks.ablation --data DIR --folder ablations
python -m benchmarks.ablation --data DIR --folder ablations --budget 2e6 --only reference muon

Each variant differs from the reference in what its name says, and learns from as many tokens, 8 million
unless told otherwise. A variant whose BLEU differs from the reference's by less than 0.5 is trained with
a second seed, as the reference is then. Runs that are there already are not trained again, and one that
was interrupted is resumed. The test pairs are never read. Everything else on the line goes to the trainer.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from benchmarks.record import save
from solutions.translation import data, machine
from solutions.translation.__main__ import main as trainer
from solutions.translation.__main__ import settings_of
from solutions.translation.decoding import Translator
from solutions.translation.evaluation import quality
from solutions.translation.model import n_parameters
from solutions.translation.run_folder import RunFolder
from solutions.translation.tokenizer import learn
from solutions.translation.trainer import Trainer

REFERENCE = "reference"
VARIANTS: dict[str, list[str]] = {
    REFERENCE: [],
    "norm first": ["--norm-first"],
    "cosine": ["--schedule=cosine"],
    "moving average": ["--ema=0.998"],
    "6,000 pieces, twice the feed-forward width": ["--vocab-size=6000", "--d-ff=512"],
    "6,000 pieces, 5 layers": ["--vocab-size=6000", "--layers=5"],
    "4,000 pieces": ["--vocab-size=4000"],
    "subword dropout": ["--subword-dropout=0.1"],
    "attention dropout": ["--attention-dropout=0.1"],
    "activation dropout": ["--activation-dropout=0.1"],
    "R-Drop": ["--rdrop=5"],  # two passes over each token, so twice the time
    "muon": ["--optimizer=muon"],
    "clip": ["--clip=1"],
    "weight decay": ["--weight-decay=0.01"],
}
CLOSE = 0.5


def steps_of(words: list[str], tokens: float) -> int:
    """How many steps learn from that many tokens, with the settings on a command line of the trainer."""
    settings = settings_of(["train", "--task=multi30k", *words])
    pairs = data.load(settings, "train")
    texts = (text for pair in pairs for text in pair)
    tokenizer = learn(texts, settings["vocab_size"], settings["pieces"])
    batches = Trainer(settings, machine.choose("cpu"), tokenizer, pairs, []).batches
    epoch = sum(batches.predicted(n) for n in range(len(batches)))
    return round(tokens * len(batches) / epoch / settings["accumulate"])


def train(path: Path, words: list[str], tokens: float) -> dict:
    """Train a variant, or go on; what came of it on the validation pairs."""
    folder = RunFolder(path)
    if folder.last.exists():
        machine_words = [word for word in words if word.startswith(("--device", "--precision"))]
        status = trainer(["train", "--folder", str(path), "--resume", *machine_words])
    else:
        steps = ["--patience=0", f"--steps={steps_of(words, tokens)}"]
        status = trainer(["train", "--task=multi30k", "--folder", str(path), *steps, *words])
    if status:
        raise SystemExit(status)
    settings = folder.settings()
    sources, references = zip(*data.load(settings, "valid"), strict=True)
    here = machine.choose("auto", precision="float32")
    bleu = {}
    for average in (1, min(10, len(folder.weights()))):
        translator = Translator.load(folder, here, average)
        written = translator(sources, beam=5, alpha=1.0, refill=True)
        bleu[average] = quality(written, references, settings)[1]
    last = folder.measured()[-1]
    return {
        "seed": settings["seed"],
        "valid_bleu": max(bleu.values()),
        "valid_bleu_by_averaged_checkpoints": bleu,
        "valid_loss": last["valid_loss"],
        "steps": settings["steps"],
        "processor_minutes": round(last["processor_seconds"] / 60, 1),
        "parameters": n_parameters(translator.model),
    }


def undecided(found: dict[str, list[dict]]) -> list[str]:
    """The variants that need a second seed: those with one whose BLEU is close to the reference's, and
    then the reference, too."""
    bleu = {name: runs[0]["valid_bleu"] for name, runs in found.items()}
    close = [
        name for name in found if name != REFERENCE and abs(bleu[name] - bleu[REFERENCE]) < CLOSE
    ]
    return [name for name in ([REFERENCE, *close] if close else []) if len(found[name]) == 1]


def main() -> None:
    """Train what is missing and save the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--data", required=True, help="folder of Multi30k's files")
    parser.add_argument("--folder", required=True, help="where the runs are kept")
    parser.add_argument("--budget", type=float, default=8e6, help="tokens of a run (default 8e6)")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    arguments, more = parser.parse_known_args()
    names = list(dict.fromkeys([REFERENCE, *arguments.only]))

    def run(name: str, seed: int) -> dict:
        path = Path(arguments.folder) / f"{name.replace(' ', '-').replace(',', '')}-{seed}"
        words = [f"--data={arguments.data}", f"--seed={seed}", *VARIANTS[name], *more]
        return train(path, words, arguments.budget)

    found = {name: [run(name, 0)] for name in names}
    for name in undecided(found):
        found[name].append(run(name, 1))
    table = {
        name: {
            "changed": VARIANTS[name],
            "mean_valid_bleu": statistics.mean(one["valid_bleu"] for one in runs),
            "runs": runs,
        }
        for name, runs in found.items()
    }
    save(__file__, {"tokens_of_a_run": arguments.budget, "variants": table})


if __name__ == "__main__":
    main()
