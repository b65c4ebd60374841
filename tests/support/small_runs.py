"""A tiny Multi30k of colours, and a model to train on it."""

import gzip
import random

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
