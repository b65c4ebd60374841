"""The command line: its options, and what can be said of them before anything is loaded.

PyTorch takes seconds to import, so nothing here needs it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from translation import TranslationError, data
from translation.settings import (
    OPTIONS,
    RECIPES,
    ModelSettings,
    Settings,
    TaskSettings,
    TrainingSettings,
    check_search,
    complete,
)

RUNS = Path("runs")
EXAMPLES = """examples:
  python -m translation train
      number words, English to German, in about a minute on a laptop
  python -m translation train --source-language fr --target-language ja
      two other languages of num2words
  python -m translation train --positions rope --norm rms --feed-forward swiglu --key-heads 2
      the same with what language models are made of today, as in chapter 6
  python -m translation train --task multi30k --data multi30k
      image captions, with the settings of a published model
  python -m translation train --task parallel --source a.en.gz --target a.de.gz --folder runs/mine
      your own text, a sentence a line
  python -m translation train --folder runs/mine --resume
      go on where a run stopped
  torchrun --nproc-per-node 4 -m translation train --task multi30k --data multi30k
      four GPUs, or four shares of a CPU; on several computers, each needs the text files
  python -m translation translate "forty-two"
  python -m translation evaluate --beam 5 --average 5
  python -m translation evaluate --folder runs/b --against a.txt
      whether run b is better than what is in a.txt, which `evaluate --output a.txt` of run a has written
  python -m translation train --config runs/mine/config.json --seed 1
      the settings of another run with another seed
"""


def given_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that a command line has, by name, and those of its file of settings.

    Raises:
        TranslationError: the file can't be read, or has something that is no setting.
    """
    found = {name: value for name, value in vars(arguments).items() if name in OPTIONS}
    listed = {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}
    return (_of_file(arguments.config) if arguments.config else {}) | listed


def _of_file(path: str) -> dict[str, Any]:
    """The settings in a file such as a run's config.json.

    Raises:
        TranslationError: it can't be read, or has something that is no setting.
    """
    try:
        stored = json.loads("\n".join(data.read_lines(path)))
        settings = Settings.from_json(stored)
    except ValueError as error:
        raise TranslationError(f"--config {path}: {error}") from error
    return {name: getattr(settings, name) for name in stored if name in OPTIONS}


def _add_settings(parser: argparse.ArgumentParser, title: str, settings: type) -> None:
    """Add the fields of a dataclass of settings as options."""
    group = parser.add_argument_group(title)
    for field in fields(settings):
        exceptions = [
            f"{recipe[field.name]} for {task}"
            for task, recipe in RECIPES.items()
            if field.name in recipe
        ]
        shown = "" if field.default in ("", ()) else f"{field.default}"
        default = f" (default {', '.join([shown, *exceptions])})" if shown else ""
        kind: dict[str, Any]
        if isinstance(field.default, bool):
            kind = {"action": argparse.BooleanOptionalAction}
        elif field.default == ():
            kind = {"nargs": "+", "metavar": field.metadata["value"]}
        elif field.metadata["choices"]:
            kind = {"choices": field.metadata["choices"]}
        else:
            kind = {"type": type(field.default), "metavar": field.metadata["value"]}
        group.add_argument(
            "--" + field.name.replace("_", "-"),
            default=argparse.SUPPRESS,
            help=field.metadata["help"] + default,
            **kind,
        )


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, too."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"Error: {message}; {self.prog} --help says what there is\n")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands. What it gives has `command`, the name of one."""
    made = _Parser(
        prog="python -m translation",
        description="Train the Transformer of this course to translate, and use it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = made.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str, default: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.set_defaults(command=name)
        added.add_argument(
            "--folder",
            metavar="FOLDER",
            help=f"folder of the run (default: {default})",
        )
        return added

    train = command(
        "train",
        "Train a model.",
        "a new one in runs/, named after the task; with --resume, the newest there",
    )
    _add_training(train)
    translate = command("translate", "Translate with a trained model.", "the newest in runs/")
    translate.add_argument("text", nargs="*", help="sentences; without any, the lines of the input")
    evaluate = command(
        "evaluate",
        "Score a trained model on pairs it has not seen.",
        "the newest in runs/",
    )
    _add_pairs(evaluate)
    for searching in (translate, evaluate):
        _add_search(searching)
    for added in (train, translate, evaluate):
        _add_machine(added, trains=added is train)
    return made


def _add_training(train: argparse.ArgumentParser) -> None:
    """Add the options of a run."""
    train.add_argument(
        "--resume",
        action="store_true",
        help="go on from the run's last checkpoint; on a CPU with as many threads, and on CUDA with "
        "--deterministic, to the same bits as without a stop",
    )
    train.add_argument(
        "--config",
        metavar="FILE",
        help="a file of settings, such as the config.json of a run; options on the command line come first",
    )
    train.add_argument(
        "--download",
        metavar="URL",
        help="multi30k: get the files that --data FOLDER lacks from this address, and check them",
    )
    _add_settings(train, "task", TaskSettings)
    _add_settings(train, "model", ModelSettings)
    _add_settings(train, "training", TrainingSettings)


def _add_pairs(evaluate: argparse.ArgumentParser) -> None:
    """Add the options that say what is scored."""
    evaluate.add_argument(
        "--split",
        default="test",
        metavar="SPLIT",
        help="test, valid or another of the task (default test)",
    )
    evaluate.add_argument(
        "--source", nargs="+", default=[], metavar="FILE", help="own files to translate"
    )
    evaluate.add_argument(
        "--target", nargs="+", default=[], metavar="FILE", help="their right translations"
    )
    evaluate.add_argument("--output", metavar="FILE", help="file to write the translations to")
    evaluate.add_argument(
        "--against",
        metavar="FILE",
        help="translations of the same sentences by another system: whether the difference in BLEU is more "
        "than chance (paired bootstrap)",
    )


def _add_search(searching: argparse.ArgumentParser) -> None:
    """Add the options of a beam search and of the weights that it uses."""
    searching.add_argument(
        "--beam",
        type=int,
        default=1,
        metavar="HYPOTHESES",
        help="hypotheses kept (default 1: greedy)",
    )
    searching.add_argument(
        "--alpha",
        type=float,
        default=0.6,
        metavar="EXPONENT",
        help="length penalty of the beam (default 0.6)",
    )
    searching.add_argument(
        "--average",
        type=int,
        default=1,
        metavar="CHECKPOINTS",
        help="average the weights of the last CHECKPOINTS (default 1)",
    )
    searching.add_argument(
        "--best",
        action="store_true",
        help="take the checkpoint that did best on the validation pairs instead",
    )
    searching.add_argument(
        "--refill",
        action="store_true",
        help="as fairseq: fill the beam up again when a hypothesis ends, and divide by length ** alpha",
    )


def _add_machine(added: argparse.ArgumentParser, trains: bool) -> None:
    """Add the options that say what to compute on."""
    group = added.add_argument_group("machine")
    group.add_argument(
        "--device", default="auto", metavar="DEVICE", help="auto, cpu, cuda, cuda:1, mps"
    )
    group.add_argument(
        "--threads",
        type=int,
        metavar="THREADS",
        help="threads on a CPU (default: OMP_NUM_THREADS, or what is faster at the start, one or all)",
    )
    group.add_argument(
        "--precision",
        default="auto",
        choices=("auto", "float32", "bfloat16", "float16"),
        help="of matrix products; auto is bfloat16 on a GPU that has it, else float16 with scaled "
        "gradients, and float32 on a CPU",
    )
    if trains:
        group.add_argument(
            "--compile",
            action=argparse.BooleanOptionalAction,
            help="torch.compile of each layer, in the first step (default: for long runs on CUDA, if the "
            "GPU is from 2017 or later)",
        )
    group.add_argument(
        "--graphs",
        action=argparse.BooleanOptionalAction,
        help="CUDA graphs: start a step's kernels all together (default: on CUDA)",
    )
    group.add_argument(
        "--attention",
        default="fused",
        choices=("fused", "formula"),
        help="PyTorch's kernel, or the function of chapter 2 (default fused)",
    )
    group.add_argument(
        "--deterministic",
        action="store_true",
        help="the same bits each time also on CUDA, slower; on a CPU they are the same anyway",
    )


def settings_of(argv: list[str]) -> Settings:
    """All settings of a new run that this command line of `train` begins."""
    return complete(given_settings(parser().parse_args(argv)))


def check(arguments: argparse.Namespace) -> None:
    """Make sure that a command can begin, as far as its options tell.

    Raises:
        TranslationError: a number makes no sense, two options don't fit together, or a file isn't there.
    """
    if arguments.command != "train":
        check_search(arguments.beam, arguments.alpha)
        return
    if arguments.resume:
        return  # the settings of that run count, too
    settings = complete(given_settings(arguments))
    if settings.task != "numbers" and not arguments.download:
        data.load(settings, "train")
