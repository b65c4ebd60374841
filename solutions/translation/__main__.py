"""The command line: train, translate, evaluate."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from torch import distributed

from solutions.translation import TranslationError, data, machine
from solutions.translation.settings import MODEL, RECIPES, SETTINGS, TASK, TRAINING, complete

EXAMPLES = """examples:
  python -m solutions.translation train
      number words, English to German, in some minutes on a laptop
  python -m solutions.translation train --source-language fr --target-language ja --folder runs/fr-ja
      two other languages of num2words
  python -m solutions.translation train --task multi30k --data multi30k --folder runs/multi30k
      image captions, with the settings of a published model
  python -m solutions.translation train --task parallel --source a.en.gz --target a.de.gz --folder runs/mine
      your own text, a sentence a line
  python -m solutions.translation train --folder runs/mine --resume
      go on where a run stopped
  torchrun --nproc-per-node 4 -m solutions.translation train --task multi30k --data multi30k
      four GPUs, or four shares of a CPU
  python -m solutions.translation translate "forty-two"
  python -m solutions.translation evaluate --beam 5 --average 5
"""
say = Console(stderr=True, highlight=False, soft_wrap=True).print


def _tokenizer(settings: dict, pairs: list[data.Pair]):
    from solutions.translation.tokenizer import learn

    texts = [text for pair in pairs for text in pair]
    return learn(texts, settings["vocab_size"], settings["pieces"])


def _settings(given: dict[str, Any], folder, resume: bool) -> dict[str, Any]:
    """The settings of a new run, or of the run to go on with."""
    if not resume:
        return complete(given)
    settings = folder.settings()
    for name, value in given.items():
        if name != "steps" and settings.get(name) != value:
            raise TranslationError(
                f"--resume goes on with the settings of {folder.path}, where {name} is "
                f"{settings.get(name)}, not {value}; only --steps may change"
            )
    return settings | given


def _train(arguments: argparse.Namespace) -> None:
    from solutions.translation.run_folder import RunFolder
    from solutions.translation.trainer import Trainer

    folder = RunFolder(arguments.folder)
    given = {name: value for name, value in vars(arguments).items() if name in SETTINGS}
    settings = _settings(given, folder, arguments.resume)
    here = _machine(arguments)
    pairs = data.load(settings, "train")
    if not pairs:
        raise TranslationError("--task parallel needs --source FILE and --target FILE")
    if not arguments.resume and here.rank == 0:
        folder.create(settings, _tokenizer(settings, pairs))
    if here.world_size > 1:
        distributed.barrier()  # the others read what process 0 has written
    trainer = Trainer(settings, here, folder.tokenizer(), pairs, data.load(settings, "valid"))
    if arguments.resume:
        trainer.restore(folder)
        if here.rank == 0:
            folder.forget_after(trainer.step)
            folder.write_settings(settings)
    if here.rank == 0:
        say(trainer.summary())
    trainer.run(folder)
    if here.rank == 0:
        say(f"trained {trainer.step} steps in {trainer.seconds:.0f} s; all is in {folder.path}")


def _machine(arguments: argparse.Namespace) -> machine.Machine:
    names = ("device", "precision", "compile", "attention", "deterministic")
    return machine.choose(**{name: getattr(arguments, name) for name in names})


def _translator(arguments: argparse.Namespace):
    """The function from texts to translations of a trained run, and its settings."""
    from solutions.translation.decoding import Translator
    from solutions.translation.run_folder import RunFolder

    folder = RunFolder(arguments.folder)
    here = _machine(arguments)
    translator = Translator.load(folder, here, arguments.average)
    return translator, folder.settings()


def _translate(arguments: argparse.Namespace) -> None:
    translator, _ = _translator(arguments)
    texts = arguments.text or [line.strip() for line in sys.stdin]
    for line in translator(texts, arguments.beam, arguments.alpha):
        print(line)


def _evaluate(arguments: argparse.Namespace) -> None:
    from solutions.translation.evaluation import scores
    from solutions.translation.run_folder import write

    translator, settings = _translator(arguments)
    if arguments.source or arguments.target:
        pairs = data.read_pairs(arguments.source, arguments.target)
    else:
        pairs = data.load(settings, arguments.split)
    if not pairs:
        raise TranslationError(
            f"the task {settings['task']} has no split {arguments.split!r}: give --source and --target"
        )
    sources, references = map(list, zip(*pairs, strict=True))
    written = translator(sources, arguments.beam, arguments.alpha)
    if arguments.output:
        write(Path(arguments.output), ("\n".join(written) + "\n").encode())
    print(json.dumps(scores(written, references, settings), indent=1, ensure_ascii=False))


def _add_settings(parser: argparse.ArgumentParser, title: str, settings: dict) -> None:
    group = parser.add_argument_group(title)
    for name, setting in settings.items():
        exceptions = [
            f"{recipe[name]} for {task}" for task, recipe in RECIPES.items() if name in recipe
        ]
        shown = "" if setting.default in ("", []) else f"{setting.default}"
        default = f" (default {', '.join([shown, *exceptions])})" if shown else ""
        kind: dict[str, Any] = {"choices": setting.choices, "nargs": setting.nargs}
        kind |= {"type": type(setting.default) if setting.default != [] else str, "metavar": "X"}
        if setting.choices:
            kind.pop("metavar")
        if isinstance(setting.default, bool):
            kind = {"action": argparse.BooleanOptionalAction}
        group.add_argument(
            "--" + name.replace("_", "-"),
            default=argparse.SUPPRESS,
            help=setting.help + default,
            **kind,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m solutions.translation",
        description="Train the Transformer of this course to translate, and use it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.set_defaults(command=run)
        added.add_argument(
            "--folder", default="runs/last", help="folder of the run (default runs/last)"
        )
        return added

    train = command("train", _train, "Train a model.")
    train.add_argument(
        "--resume", action="store_true", help="go on from the run's last checkpoint, bit for bit"
    )
    _add_settings(train, "task", TASK)
    _add_settings(train, "model", MODEL)
    _add_settings(train, "training", TRAINING)
    translate = command("translate", _translate, "Translate with a trained model.")
    translate.add_argument("text", nargs="*", help="sentences; without any, the lines of the input")
    evaluate = command("evaluate", _evaluate, "Score a trained model on pairs it has not seen.")
    evaluate.add_argument(
        "--split", default="test", help="test, valid or another of the task (default test)"
    )
    evaluate.add_argument("--source", nargs="+", default=[], help="own files to translate")
    evaluate.add_argument("--target", nargs="+", default=[], help="their right translations")
    evaluate.add_argument("--output", help="file to write the translations to")
    for searching in (translate, evaluate):
        searching.add_argument(
            "--beam", type=int, default=1, help="hypotheses kept (default 1: greedy)"
        )
        searching.add_argument(
            "--alpha", type=float, default=0.6, help="length penalty of the beam (default 0.6)"
        )
        searching.add_argument(
            "--average", type=int, default=1, help="average the weights of this many checkpoints"
        )
    for added in (train, translate, evaluate):
        group = added.add_argument_group("machine")
        group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps")
        group.add_argument(
            "--precision",
            default="auto",
            choices=("auto", "float32", "bfloat16"),
            help="auto is bfloat16 on CUDA, float32 elsewhere",
        )
        group.add_argument(
            "--compile",
            action=argparse.BooleanOptionalAction,
            help="torch.compile (default: on CUDA alone)",
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
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a command; errors that the user can put right take one line. Returns the exit status."""
    from solutions.translation.trainer import Stopped

    arguments = _parser().parse_args(argv)
    try:
        arguments.command(arguments)
    except TranslationError as error:
        say(f"Error: {error}", style="red", markup=False)
        return 1
    except Stopped as stopped:
        say(str(stopped))
        return 130
    except KeyboardInterrupt:
        say("stopped at once; the last checkpoint is whole")
        return 130
    finally:
        machine.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
