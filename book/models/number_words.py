"""Number words from English to German: the data of chapter 1's translators, and their training."""

import re

import numpy as np
import torch
from num2words import num2words
from torch.nn.utils.rnn import pad_sequence

from book.models.encoder_decoder import END, PAD, EncoderDecoder, train
from book.models.seeds import seed

SHOWN = 27_381  # the number whose alignment chapter 1 shows
SPECIAL = ["(pad)", "(start)", "(end)"]
SMALL = [*range(21), *range(30, 100, 10)]
GERMAN = {num2words(n, lang="de") for n in SMALL}
GERMAN |= {"ein", "und", "hundert", "tausend"}
# a fixed order, also of words with the same length: results are kept under a digest of it
LONGEST_FIRST = "|".join(sorted(GERMAN, key=lambda word: (-len(word), word)))


def english(n: int) -> list[str]:
    """The English words of a number below one million."""
    return re.findall("[a-z]+", num2words(n))


def german(n: int) -> list[str]:
    """The words that the German word for a number is made of."""
    return re.findall(LONGEST_FIRST, num2words(n, lang="de"))


class NumberWords:
    """Numbers below one million, drawn at random: `seen` is for training,
    `held_out` for measuring.
    """

    def __init__(self, drawing_seed: int) -> None:
        rng = np.random.default_rng(drawing_seed)
        drawn = rng.choice(1_000_000, 10_000, replace=False).tolist()
        drawn = [n for n in drawn if n != SHOWN]
        self.held_out, self.seen = drawn[:1000], drawn[1000:]
        words = sorted({w for n in drawn for w in english(n)})
        self.source_words = SPECIAL + words
        words = sorted({w for n in drawn for w in german(n)})
        self.target_words = SPECIAL + words
        self.source_index = {w: i for i, w in enumerate(self.source_words)}
        self.target_index = {w: i for i, w in enumerate(self.target_words)}

    def as_tensors(self, numbers: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Source (B, S) and target (B, T), padded; each target closes
        with END.
        """
        sources = [[self.source_index[w] for w in english(n)] for n in numbers]
        targets = [[self.target_index[w] for w in german(n)] + [END] for n in numbers]
        source, target = (
            pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
            for rows in (sources, targets)
        )
        return source, target


def train_translator(
    network: type[EncoderDecoder], training_seed: int, rate: float = 0.015
) -> EncoderDecoder:
    """Train a network of chapter 1 on the numbers of seed 1, with a learning rate."""
    data = NumberWords(seed(1))
    source, target = data.as_tensors(data.seen)

    def sample() -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.randint(len(source), (64,))
        return source[rows], target[rows]

    torch.manual_seed(training_seed)
    model = network(len(data.source_words), len(data.target_words))
    return train(model, sample, n_steps=400, learning_rate=rate)


def exact_match(model: EncoderDecoder, data: NumberWords, numbers: list[int]) -> float:
    """Share of numbers that are right from the first word to END."""
    source, target = data.as_tensors(numbers)
    words, _ = model.generate(source, target.shape[1])
    right = (words == target) | (target == PAD)
    return right.all(dim=1).float().mean().item()


def alignment(model: EncoderDecoder, data: NumberWords, n: int) -> np.ndarray:
    """The weights (T, S) with which the model writes its translation of
    n, up to (end).
    """
    source, target = data.as_tensors([n])
    return model.generate(source, target.shape[1])[1][0].numpy()
