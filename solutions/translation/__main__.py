"""The command line: train, translate, evaluate."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from rich.console import Console

from solutions.translation import TranslationError, data, machine
from solutions.translation.decoding import Translator
from solutions.translation.evaluation import quality, scores
from solutions.translation.graphs import capture
from solutions.translation.interruption import Stopped
from solutions.translation.machine import Machine
from solutions.translation.model import build
from solutions.translation.run_folder import RunFolder, load_weights, newest, unused, write
from solutions.translation.settings import (
    FILES,
    OPTIONS,
    RECIPES,
    ModelSettings,
    Settings,
    TaskSettings,
    TrainingSettings,
    complete,
)
from solutions.translation.tokenizer import Tokenizer, learn

if TYPE_CHECKING:
    from solutions.translation.trainer import Trainer

RUNS = Path("runs")
EXAMPLES = """examples:
  python -m solutions.translation train
      number words, English to German, in about a minute on a laptop
  python -m solutions.translation train --source-language fr --target-language ja
      two other languages of num2words
  python -m solutions.translation train --task multi30k --data multi30k
      image captions, with the settings of a published model
  python -m solutions.translation train --task parallel --source a.en.gz --target a.de.gz --folder runs/mine
      your own text, a sentence a line
  python -m solutions.translation train --folder runs/mine --resume
      go on where a run stopped
  torchrun --nproc-per-node 4 -m solutions.translation train --task multi30k --data multi30k
      four GPUs, or four shares of a CPU; on several computers, each needs the text files
  python -m solutions.translation train --task parallel --source a.en --target a.de --init-from runs/mine
      go on from the weights of another run, on other text
  python -m solutions.translation translate "forty-two"
  python -m solutions.translation evaluate --beam 5 --average 5
  cp -r multi30k distilled
  python -m solutions.translation evaluate --folder runs/large --split train --beam 5 \\
      --output distilled/train.lc.norm.tok.de
  python -m solutions.translation train --task multi30k --data distilled
      learn what a larger run translates instead of the references: sequence-level distillation
  python -m solutions.translation train --task multi30k --data multi30k --distill-from runs/a runs/b
      learn what two runs predict at each place, beside the references: word-level distillation
"""
say = Console(stderr=True, highlight=False, soft_wrap=True).print


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that a command line has, by name."""
    found = {name: value for name, value in vars(arguments).items() if name in OPTIONS}
    return {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}


def _changed(given: dict[str, Any], settings: Settings, names: Collection[str]) -> str:
    """What is not given as it is in the settings of a run, in words; "" if nothing is."""
    return "; ".join(
        f"{name} is {getattr(settings, name)}, not {value}"
        for name, value in given.items()
        if name in names and getattr(settings, name) != value
    )


def _resumed(given: dict[str, Any], folder: RunFolder, processes: int) -> Settings:
    """The settings of a run to go on with, whose steps are to be made of the same batches as before."""
    settings = folder.settings()
    if changed := _changed(given, settings, given.keys() - {"steps", *FILES}):
        raise TranslationError(
            f"--resume goes on with the settings of {folder.path}, where {changed}. "
            "Only --steps may change, and where the text lies (--data, --source, ...)"
        )
    batches = settings.accumulate * settings.processes
    if batches % processes:
        raise TranslationError(
            f"each step of {folder.path} is made of {batches} batches, which {processes} processes "
            f"cannot share evenly: go on with {settings.processes}"
        )
    shared = {"accumulate": batches // processes, "processes": processes}
    return replace(settings, **(given | shared))


@dataclass(frozen=True)
class _Start:
    """What process 0 finds out for all: settings and vocabulary of a run, weights to begin with, and the
    settings and weights of its teachers."""

    settings: Settings
    vocabulary: bytes
    weights: dict[str, torch.Tensor] | None
    teachers: list[tuple[Settings, dict[str, torch.Tensor]]]


def _teachers(
    settings: Settings, vocabulary: bytes
) -> list[tuple[Settings, dict[str, torch.Tensor]]]:
    """The settings and weights of the runs to learn from."""
    found = []
    for path in settings.distill_from:
        teacher = RunFolder(path)
        if teacher.tokenizer().model != vocabulary:
            raise TranslationError(
                f"--distill-from {path}: it has another vocabulary, so that its predictions are of other "
                "pieces; train a teacher with the --vocab-size, --pieces and texts of the new run"
            )
        found.append((teacher.settings(), teacher.trained_weights()[0]))
    return found


def _begin(arguments: argparse.Namespace, folder: RunFolder, processes: int) -> _Start:
    """Find out how a run starts, and make its folder."""
    given = _given(arguments)
    if arguments.resume:
        settings, vocabulary = _resumed(given, folder, processes), folder.tokenizer().model
        return _Start(settings, vocabulary, None, _teachers(settings, vocabulary))
    origin = RunFolder(given["init_from"]) if given.get("init_from") else None
    if origin:
        before = origin.settings()
        sizes = [
            field.name for field in fields(ModelSettings) if not field.name.endswith("dropout")
        ]
        if changed := _changed(given, before, sizes):
            raise TranslationError(
                f"--init-from takes the model of {origin.path}, where {changed}. Its dropout may change"
            )
        given |= {name: getattr(before, name) for name in sizes}
    settings = replace(complete(given), processes=processes)
    if arguments.download:
        place = settings.data if settings.task == "multi30k" else ""
        data.download_multi30k(arguments.download, place, settings.text)
    folder.check_new()
    if origin:
        tokenizer, (weights, _) = origin.tokenizer(), origin.trained_weights()
    else:
        texts = (text for pair in data.load(settings, "train") for text in pair)
        tokenizer, weights = learn(texts, settings.vocab_size, settings.pieces), None
    teachers = _teachers(settings, tokenizer.model)
    folder.create(settings, tokenizer)
    return _Start(settings, tokenizer.model, weights, teachers)


def _train(arguments: argparse.Namespace) -> None:
    from solutions.translation.trainer import Trainer

    here = _machine(arguments)
    path = arguments.folder or (
        newest(RUNS) if arguments.resume else unused(RUNS, getattr(arguments, "task", "numbers"))
    )
    folder = RunFolder(path)
    # the others wait in `join`, which lets them wait for longer than a collective operation would
    begun = _begin(arguments, folder, here.world_size) if here.rank == 0 else None
    here.join()
    start: _Start = here.share(begun)
    settings, tokenizer = start.settings, Tokenizer(start.vocabulary)
    pairs, valid = data.load(settings, "train"), data.load(settings, "valid")
    teachers = []
    for origin, (sizes, weights) in zip(settings.distill_from, start.teachers, strict=True):
        teacher = build(sizes, len(tokenizer), here.attention, here.device.type)
        load_weights(teacher, weights, Path(origin))
        teachers.append(teacher.to(here.device))
    trainer = Trainer(settings, here, tokenizer, pairs, valid, teachers)
    if start.weights:
        trainer.begin_with(start.weights, RunFolder(settings.init_from))
    if arguments.resume:
        trainer.restore(folder)
        if here.rank == 0:
            folder.forget_after(trainer.step)
            folder.write_settings(settings)
    trainer.compile(arguments.compile)
    if here.rank == 0:
        say(trainer.summary())
    trainer.run(folder)
    if here.rank == 0:
        say(f"trained {trainer.step} steps in {trainer.seconds:.0f} s; all is in {folder.path}")
        _show(trainer)


def _show(trainer: Trainer) -> None:
    """How good a new model is on sentences that it was not trained on, and what it makes of five."""
    settings = trainer.settings
    pairs = list(data.load(settings, "test" if settings.task == "numbers" else "valid"))
    if not pairs:
        return
    sources, references = zip(*pairs, strict=True)
    with trainer.eagerly():
        written = Translator(trainer.average, trainer.tokenizer, trainer.machine)(sources)
    name, value = quality(written, references, settings)
    say(f"{name.replace('_', ' ')} on {len(pairs):,} pairs that it has not seen: {value:.1f}")
    for place in sorted({n * len(pairs) // 5 for n in range(5)}):
        say(f"  {sources[place]} -> {written[place]}", markup=False)


def _machine(arguments: argparse.Namespace) -> Machine:
    """What a command computes on, ready for it."""
    names = ("device", "precision", "compile", "attention", "deterministic")
    here = machine.choose(**{name: getattr(arguments, name) for name in names}).take()
    if arguments.graphs and here.device.type != "cuda":
        raise TranslationError(
            f"--graphs: CUDA graphs need a GPU, and this would run on {here.device}"
        )
    here = replace(here, record=capture if arguments.graphs else None)
    if here.device.type == "cpu":
        machine.keep_freed_memory()
        machine.keep_few_kernels()
        machine.set_threads(arguments.threads)
    return here


def _translator(arguments: argparse.Namespace) -> tuple[Translator, Settings]:
    """The function from texts to translations of a trained run, and its settings."""
    folder = RunFolder(arguments.folder or newest(RUNS))
    here = _machine(arguments)
    translator = Translator.load(folder, here, arguments.average, arguments.best)
    return translator, folder.settings()


def _translate(arguments: argparse.Namespace) -> None:
    translator, _ = _translator(arguments)
    given = [os.fsencode(text) for text in arguments.text]  # the bytes that the shell has passed
    texts = list(data.decoded(given or sys.stdin.buffer, "the text to translate"))
    for text in texts:
        if translator.tokenizer.unknown(text):
            say(f"this has letters that the model has never seen: {text}", markup=False)
    for line in translator(texts, arguments.beam, arguments.alpha, arguments.refill):
        print(line)


def _evaluate(arguments: argparse.Namespace) -> None:
    translator, settings = _translator(arguments)
    if arguments.source or arguments.target:
        pairs = list(data.FilePairs(tuple(arguments.source), tuple(arguments.target)))
    else:
        pairs = list(data.load(settings, arguments.split))
    if not pairs:
        raise TranslationError(
            f"the task {settings.task} has no split {arguments.split!r}: give --source and --target"
        )
    sources, references = map(list, zip(*pairs, strict=True))
    written = translator(sources, arguments.beam, arguments.alpha, arguments.refill)
    if arguments.output:
        write(Path(arguments.output), ("\n".join(written) + "\n").encode())
    print(json.dumps(scores(written, references, settings), indent=1, ensure_ascii=False))


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


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m solutions.translation",
        description="Train the Transformer of this course to translate, and use it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable, text: str, default: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.set_defaults(command=run)
        added.add_argument(
            "--folder",
            metavar="FOLDER",
            help=f"folder of the run (default: {default})",
        )
        return added

    train = command(
        "train",
        _train,
        "Train a model.",
        "a new one in runs/, named after the task; with --resume, the newest there",
    )
    _add_training(train)
    translate = command(
        "translate", _translate, "Translate with a trained model.", "the newest in runs/"
    )
    translate.add_argument("text", nargs="*", help="sentences; without any, the lines of the input")
    evaluate = command(
        "evaluate",
        _evaluate,
        "Score a trained model on pairs it has not seen.",
        "the newest in runs/",
    )
    _add_pairs(evaluate)
    for searching in (translate, evaluate):
        _add_search(searching)
    for added in (train, translate, evaluate):
        _add_machine(added)
    return parser


def _add_training(train: argparse.ArgumentParser) -> None:
    """Add the options of a run."""
    train.add_argument(
        "--resume",
        action="store_true",
        help="go on from the run's last checkpoint; on a CPU with as many threads, and on CUDA with "
        "--deterministic, to the same bits as without a stop",
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
        help="fill the beam up again when a hypothesis ends, as fairseq does",
    )


def _add_machine(added: argparse.ArgumentParser) -> None:
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
    group.add_argument(
        "--compile",
        action=argparse.BooleanOptionalAction,
        help="torch.compile of each layer, in the first step (default: for long runs on CUDA, if the GPU "
        "is from 2017 or later)",
    )
    group.add_argument(
        "--graphs",
        action="store_true",
        help="CUDA graphs: start a step's kernels all together, which no GPU has tried yet",
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
    return complete(_given(_parser().parse_args(argv)))


def main(argv: list[str] | None = None) -> int:
    """Run a command; errors that the user can put right take one line. Returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # who reads the output, such as head, has enough; Python would try to write the rest at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except TranslationError as error:
        say(f"Error: {error}", style="red", markup=False)
        return 1
    except Stopped as stopped:
        say(str(stopped))
        return 130
    except KeyboardInterrupt:
        say("stopped at once; what was saved before is whole")
        return 130
    finally:
        machine.leave()
    return 0


if __name__ == "__main__":
    status = main()
    if "WORLD_SIZE" in os.environ:
        # a thread of gloo may still hold a tensor and aborts (SIGABRT) if it drops it while Python shuts
        # down, after all work is done: https://github.com/pytorch/pytorch/pull/179291
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
