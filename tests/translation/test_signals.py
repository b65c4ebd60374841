"""How a run ends when it's asked to, in a process of its own: SIGTERM and Ctrl-C at any moment."""

import contextlib
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest
import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from solutions.ch6_transformer import EncoderLayer
from tests.support.needs import needs_compiler
from tests.support.small_runs import text_files
from translation.__main__ import main
from translation.run_folder import RunFolder

SMALL = {
    "vocab_size": 45,
    "d_model": 16,
    "heads": 2,
    "layers": 1,
    "d_ff": 32,
    "dropout": 0.2,
    "tokens": 60,
    "warmup": 4,
    "steps": 6,
    "save_every": 3,
    "log_every": 2,
    "schedule": "noam",
}
# a process that has imported what a run needs, and makes a copy of itself for each
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["translation.trainer", __name__])


def in_process(words, moment):
    """Run a command of the trainer. Before an encoder layer is called, `moment` is, with whether the layer
    learns and how often such a layer has been called."""
    torch.set_num_threads(1)
    # a shell that starts the tests in the background has them ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    calls = {True: 0, False: 0}

    def look(module, inputs):
        if isinstance(module, EncoderLayer):
            calls[module.training] += 1
            moment(module.training, calls[module.training])

    register_module_forward_pre_hook(look)
    raise SystemExit(main(words))


def status_of(words, moment):
    """The exit status of a command of the trainer with such a moment; minus a signal's number if one has
    ended it."""
    process = SERVER.Process(target=in_process, args=(words, moment))
    process.start()
    process.join()
    return process.exitcode


def never(learns, call):
    """No signal."""


def in_the_fifth_step(learns, call):
    """SIGTERM."""
    if learns and call == 5:
        signal.raise_signal(signal.SIGTERM)


def ctrl_c_in_the_fifth_step(learns, call):
    """SIGINT."""
    if learns and call == 5:
        signal.raise_signal(signal.SIGINT)


def without_learning(learns, call):
    """SIGTERM in the middle of validation, or while teachers predict."""
    if not learns and call == 2:
        signal.raise_signal(signal.SIGTERM)


def twice_where_nothing_can_be_interrupted(learns, call):
    """As in a compiler that takes no notice of the first one."""
    if learns and call == 5:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The options with files of colours, in English and German."""
    return text_files(tmp_path_factory.mktemp("text"))


def command(run, text, *more):
    """The arguments of a run."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    machine = ["--device=cpu", "--threads=1"]
    return ["train", "--task=parallel", f"--folder={run}", *machine, *words, *text, *more]


def go_on(run, *more):
    """Resume a run in this process."""
    assert main(["train", "--resume", f"--folder={run}", "--device=cpu", "--threads=1", *more]) == 0


def same_end(one, other):
    """Whether two runs have come to the same bits, and have measured the same."""
    ends = [RunFolder(run).read() for run in (one, other)]
    equal = all(
        torch.equal(value, ends[1]["model"][name]) for name, value in ends[0]["model"].items()
    )
    found = [
        {
            (line["step"], line["valid_loss"])
            for line in RunFolder(run).measured()
            if "valid_loss" in line
        }
        for run in (one, other)
    ]
    return equal and found[0] == found[1] and ends[0]["best"] == ends[1]["best"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, text):
    """A run that nobody has stopped."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    assert main(command(run, text)) == 0
    return run


@pytest.mark.parametrize("moment", [in_the_fifth_step, ctrl_c_in_the_fifth_step])
def test_a_step_is_left_and_done_again(tmp_path, text, whole, moment):
    run = tmp_path / "run"
    assert status_of(command(run, text), moment) == 130
    assert RunFolder(run).read()["step"] == 4
    steps = [line["step"] for line in RunFolder(run).measured() if "loss" in line]
    assert steps == [2, 3, 4]
    go_on(run)
    assert same_end(run, whole)


def test_validation_is_left_and_done_when_the_run_goes_on(tmp_path, text, whole):
    run = tmp_path / "run"
    assert status_of(command(run, text), without_learning) == 130
    folder = RunFolder(run)
    assert folder.read()["step"] == 3 and not folder.weights()
    assert not any("valid_loss" in line for line in folder.measured())
    go_on(run)
    assert same_end(run, whole)
    assert [path.name for path in folder.weights()] == ["weights-000003.pt", "weights-000006.pt"]


def test_a_second_signal_ends_the_process_and_the_last_checkpoint_is_whole(tmp_path, text, whole):
    run = tmp_path / "run"
    moment = twice_where_nothing_can_be_interrupted
    assert status_of(command(run, text), moment) == -signal.SIGTERM
    assert RunFolder(run).read()["step"] == 3
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 4, "lo')  # as if it had ended while it wrote a line
    go_on(run)
    assert same_end(run, whole)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_translating_ends_at_once(whole, number):
    """It has nothing to save."""
    words = ["translate", f"--folder={whole}", "--device=cpu", "--threads=1", "red blue"]
    assert status_of(words, Sends(number)) == (-15 if number == signal.SIGTERM else 130)


def test_ctrl_c_ends_a_vocabulary_that_takes_long_to_learn(tmp_path):
    """It's made in one call of a library, to whose end Python would wait, and there's nothing to save."""
    source, target, run = tmp_path / "en", tmp_path / "de", tmp_path / "run"
    os.mkfifo(source)  # so that one knows when all has been read
    draw, lines = random.Random(0), 20_000
    text = "".join(f"{draw.getrandbits(1600):x}\n" for _ in range(lines))
    target.write_text("a\n" * lines, encoding="utf-8")
    words = ["train", "--task=parallel", f"--source={source}", f"--target={target}"]
    words += [f"--folder={run}", "--device=cpu", "--threads=1", "--vocab-size=2000"]
    process = SERVER.Process(target=in_process, args=(words, never))
    process.start()
    source.write_text(text.replace("0", " ").replace("1", " "), encoding="utf-8")
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    process.join()
    assert process.exitcode == -signal.SIGINT and not run.exists()


class Sends:
    """A moment: this signal, as soon as something is translated."""

    def __init__(self, number):
        self.number = number

    def __call__(self, learns, call):
        signal.raise_signal(self.number)


@needs_compiler
def test_compiling_is_left_and_the_run_goes_on_without(tmp_path, text, whole, monkeypatch):
    """The signal comes when the compiler has begun to write the first kernels."""
    cache, run = tmp_path / "cache", tmp_path / "run"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    words = command(run, text, "--compile")
    process = SERVER.Process(target=compiling, args=(words, str(cache)))
    process.start()
    while process.is_alive() and not any(Path(cache).rglob("*.cpp")):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    assert process.exitcode == 130
    assert RunFolder(run).read()["step"] == 0
    go_on(run)
    assert same_end(run, whole)


def compiling(words, cache):
    """Run a command of the trainer that compiles into this folder."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
    in_process(words, never)
