"""The commands: train, translate, evaluate."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from translation import TranslationError, data, machine
from translation.command_line import RUNS, given_settings
from translation.decoding import Translator
from translation.evaluation import against, quality, scores
from translation.graphs import capture
from translation.interruption import at_once
from translation.machine import Machine
from translation.run_folder import RunFolder, newest, unused, write
from translation.settings import FILES, Settings, complete
from translation.tokenizer import Tokenizer, learn
from translation.trainer import Trainer

say = Console(stderr=True, highlight=False, soft_wrap=True).print


def run(arguments: argparse.Namespace) -> None:
    """Run the command that a command line names.

    Raises:
        TranslationError: something is wrong that the user can put right.
        Stopped: training was interrupted.
    """
    try:
        {"train": _train, "translate": _translate, "evaluate": _evaluate}[arguments.command](
            arguments
        )
    finally:
        machine.leave()


def _resumed(given: dict[str, Any], folder: RunFolder, processes: int) -> Settings:
    """The settings of a run to go on with, whose steps are to be made of the same batches as before."""
    settings = folder.settings()
    changed = [
        f"{name} is {getattr(settings, name)}, not {value}"
        for name, value in given.items()
        if name not in ("steps", *FILES) and getattr(settings, name) != value
    ]
    if changed:
        raise TranslationError(
            f"--resume goes on with the settings of {folder.path}, where {'; '.join(changed)}. "
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


def _begin(arguments: argparse.Namespace, folder: RunFolder, processes: int) -> tuple:
    """The settings of a run and its vocabulary as bytes; its folder is made."""
    given = given_settings(arguments)
    if arguments.resume:
        return _resumed(given, folder, processes), folder.tokenizer().model
    settings = replace(complete(given), processes=processes)
    if arguments.download:
        place = settings.data if settings.task == "multi30k" else ""
        data.download_multi30k(arguments.download, place, settings.text)
    folder.check_new()
    texts = (text for pair in data.load(settings, "train") for text in pair)
    with at_once():
        tokenizer = learn(texts, settings.vocab_size, settings.pieces)
    folder.create(settings, tokenizer)
    return settings, tokenizer.model


def _train(arguments: argparse.Namespace) -> None:
    here = _machine(arguments)
    path = arguments.folder or (
        newest(RUNS) if arguments.resume else unused(RUNS, getattr(arguments, "task", "numbers"))
    )
    folder = RunFolder(path)
    # process 0 finds out how it starts; the others wait in `join`, which lets them wait for longer than a
    # collective operation would
    begun = _begin(arguments, folder, here.world_size) if here.rank == 0 else None
    here.join()
    settings, vocabulary = here.share(begun)
    pairs, valid = data.load(settings, "train"), data.load(settings, "valid")
    trainer = Trainer(settings, here, Tokenizer(vocabulary), pairs, valid)
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
        written = Translator(trainer.model, trainer.tokenizer, trainer.machine)(sources)
    name, value = quality(written, references, settings)
    say(f"{name.replace('_', ' ')} on {len(pairs):,} pairs that it has not seen: {value:.1f}")
    for place in sorted({n * len(pairs) // 5 for n in range(5)}):
        say(f"  {sources[place]} -> {written[place]}", markup=False)


def _machine(arguments: argparse.Namespace) -> Machine:
    """What a command computes on, ready for it."""
    names = ("device", "precision", "attention", "deterministic")
    given = {name: getattr(arguments, name) for name in names}
    # what isn't training isn't compiled: each new shape would have to be compiled anew
    compile = arguments.compile if arguments.command == "train" else False
    here = machine.choose(**given, compile=compile).take()
    on_cuda = here.device.type == "cuda"
    if arguments.graphs and not on_cuda:
        raise TranslationError(
            f"--graphs: CUDA graphs need a GPU, and this would run on {here.device}"
        )
    graphs = on_cuda if arguments.graphs is None else arguments.graphs
    here = replace(here, record=capture if graphs else None)
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
    others = _others(arguments.against, len(pairs), settings) if arguments.against else []
    written = translator(sources, arguments.beam, arguments.alpha, arguments.refill)
    if arguments.output:
        write(Path(arguments.output), ("\n".join(written) + "\n").encode())
    found = scores(written, references, settings)
    if others:
        found["against"] = against(written, others, references, settings)
    print(json.dumps(found, indent=1, ensure_ascii=False))


def _others(path: str, count: int, settings: Settings) -> list[str]:
    """The translations of another system.

    Raises:
        TranslationError: there is no BLEU to compare, or they are not as many as the sentences.
    """
    if settings.task == "numbers":
        raise TranslationError("--against compares the BLEU of texts, and this run is on numbers")
    others = list(data.read_lines(path))
    if len(others) != count:
        raise TranslationError(
            f"--against {path}: {len(others):,} lines for {count:,} sentences; it has to have a translation "
            "a line, as --output writes them"
        )
    return others
