"""Small runs of the trainer: texts of colours in English and German, and a signal in a step."""

import contextlib
import gzip
import random
import signal

import pytest

from translation.trainer import Trainer

TINY = {
    "vocab_size": 60,
    "d_model": 16,
    "heads": 2,
    "layers": 1,
    "d_ff": 32,
    "dropout": 0.0,
    "tokens": 300,
    "accumulate": 1,
    "warmup": 5,
    "rate": 1e-2,
}
WORDS = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
COLOURS = {"red": "rot", "blue": "blau", "green": "grün", "white": "weiß", "brown": "braun"}


def write(folder, split, pairs):
    """The two files of a split."""
    for side, language in enumerate(("en", "de")):
        with gzip.open(
            folder / f"{split}.lc.norm.tok.{language}.gz", "wt", encoding="utf-8"
        ) as file:
            file.write("".join(pair[side] + "\n" for pair in pairs))


def colours(count, seed):
    """Pairs of some colours each."""
    draw = random.Random(seed)
    found = [draw.choices([*COLOURS], k=draw.randint(1, 6)) for _ in range(count)]
    return [(" ".join(words), " ".join(COLOURS[w] for w in words)) for words in found]


def text_files(folder, times=1):
    """Options of a run that learns to say two colours in German, and is validated on the same pairs."""
    pairs = [(f"{a} {b}", f"{COLOURS[a]} {COLOURS[b]}") for a in COLOURS for b in COLOURS] * times
    for side, name in enumerate(("en", "de")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (folder / name).write_text(text, encoding="utf-8")
    sides = {"source": "en", "target": "de"}.items()
    return [f"--{of}{side}={folder / name}" for of in ("", "valid-") for side, name in sides]


@contextlib.contextmanager
def stopped_after(step, number=signal.SIGINT):
    """A signal comes when so many steps are done."""
    train_step = Trainer.train_step

    def stop(self):
        if self.step == step:
            signal.raise_signal(number)
        return train_step(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "train_step", stop)
        yield
