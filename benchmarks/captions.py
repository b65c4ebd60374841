"""What a trained English-German model makes of captions of our own, for the book's page on Multi30k.

python -m benchmarks.captions --data DIR                  the run in runs/ that was begun last

First each of our sentences is looked up in all splits of Multi30k: one that occurs there is an error. Then
the run is scored as `benchmarks.multi30k` does it, and translates the sentences in the same way. Nothing of
the data set's text is stored.
"""

from __future__ import annotations

import argparse
import dataclasses
import html
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.multi30k import SEARCH, recipe, score
from benchmarks.own_captions import CAPTIONS, COUNTERPARTS, MAPPED, verdicts
from benchmarks.record import save
from translation import TranslationError, data, machine
from translation.command_line import RUNS
from translation.machine import Machine
from translation.model import build
from translation.run_folder import RunFolder, load_weights, newest
from translation.tokenizer import BOS, Tokenizer

Words = tuple[str, ...]
TEXTS = ("lc.norm.tok", "raw")
END = "(end)"


def words_of(text: str) -> Words:
    """The words of a sentence in lower case, however it was tokenised."""
    return tuple(re.findall(r"\w+", html.unescape(text).lower()))


def four_grams(words: Words) -> set[Words]:
    """All runs of four words."""
    return {words[i : i + 4] for i in range(len(words) - 3)}


@dataclass(frozen=True)
class DataSet:
    """All sentences of a data set.

    looked_through: the splits, with the version of their text; english, german: sentences as words, each
    with the first of these that has it; counts: how often each English word occurs in the training pairs;
    german_words: all words of the German sentences.
    """

    looked_through: list[str]
    english: dict[Words, str]
    german: dict[Words, str]
    counts: Counter[str]
    german_words: set[str]

    @classmethod
    def read(cls, place: str, text: str) -> DataSet:
        """All splits in a folder, in every version of their text that is there.

        Args:
            place: the folder with Multi30k's files.
            text: the version whose words are counted, "raw" or "lc.norm.tok".

        Raises:
            TranslationError: a file of the training pairs is missing or broken.
        """
        training = data.multi30k_pairs(place, "en", "de", text, "train")
        counts = Counter(word for english, _ in training for word in words_of(english))
        found = cls([], {}, {}, counts, set())
        for split in data.MULTI30K_SPLITS:
            for version in TEXTS:
                try:
                    pairs = data.multi30k_pairs(place, "en", "de", version, split)
                except TranslationError:  # the data set has some splits in one version only
                    continue
                name = f"{data.MULTI30K_SPLITS[split]} ({version})"
                found.looked_through.append(name)
                for english, german in pairs:
                    found.english.setdefault(words_of(english), name)
                    found.german.setdefault(words_of(german), name)
        found.german_words.update(word for sentence in found.german for word in sentence)
        return found

    def check_new(self, sentences: Iterable[str]) -> None:
        """Make sure that the data set has none of these.

        Raises:
            TranslationError: it has one.
        """
        for sentence in sentences:
            if name := self.english.get(words_of(sentence)):
                raise TranslationError(
                    f"{sentence!r} occurs in {name}: write another one in benchmarks/own_captions.py"
                )

    def nearest(self, sentence: str) -> dict:
        """How many 4-grams a sentence has, and how many of them the nearest one of the data set has."""
        own = four_grams(words_of(sentence))
        shared = {other: len(own & four_grams(other)) for other in self.english}
        nearest = max(shared, key=shared.get)
        return {
            "four_grams": len(own),
            "most_shared": shared[nearest],
            "in": self.english[nearest] if shared[nearest] else "",
        }

    def rarest(self, sentence: str) -> dict:
        """The word of a sentence that the training pairs have least often, and how often."""
        word = min(words_of(sentence), key=self.counts.__getitem__)
        return {"word": word, "in_training_pairs": self.counts[word]}


def by_words(
    weights: np.ndarray, sources: Sequence[str], targets: Sequence[str]
) -> tuple[list[str], list[str], np.ndarray]:
    """Weights between pieces as weights between words: sums over a source word's pieces, means over a
    target word's.

    Args:
        weights: (T, S).
        sources: S pieces, of which the first of each word begins with a "\N{LOWER ONE EIGHTH BLOCK}"; the
            last one is the sentence's end.
        targets: T pieces, likewise.

    Returns:
        The words of the source, those of the target, and weights (target words, source words).
    """
    source_words, source_of = _joined(sources)
    target_words, target_of = _joined(targets)
    weights = target_of / target_of.sum(axis=1, keepdims=True) @ weights @ source_of.T
    return source_words, target_words, weights


def _joined(pieces: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The words that pieces make, and which pieces (words, pieces) belong to each, as 0 and 1."""
    starts = [piece.startswith("\N{LOWER ONE EIGHTH BLOCK}") for piece in pieces[:-1]]
    number = np.cumsum([*starts, True]) - 1
    belongs = number == np.arange(number[-1] + 1)[:, None]
    text = "".join(pieces[:-1]).replace("\N{LOWER ONE EIGHTH BLOCK}", " ")
    return [*text.split(), END], belongs.astype(float)


@torch.inference_mode()
def cross_attention(folder: RunFolder, source: list[int], target: list[int]) -> np.ndarray:
    """The weights with which a trained model looks at the source while it writes the target.

    Args:
        folder: of the run.
        source: S pieces with EOS.
        target: T pieces with EOS; row t of the result is the one before piece t is written.

    Returns:
        (layers, T, S), the means over the heads.
    """
    # the formula gives its weights
    model = build(folder.settings(), len(folder.tokenizer()), "formula")
    load_weights(model, *folder.trained_weights(min(10, len(folder.weights()))))
    found: list[torch.Tensor] = []
    for layer in model.eval().decoder:
        layer.cross_attention.register_forward_hook(
            lambda _layer, _inputs, result: found.append(result[1][0].mean(dim=0))
        )
    model(torch.tensor([source]), torch.tensor([[BOS, *target[:-1]]]))
    return torch.stack(found).numpy()


def alignment(folder: RunFolder, tokenizer: Tokenizer, english: str, german: str) -> dict:
    """The map of a sentence and its translation, of the layer that looks most at words' counterparts."""
    ids = tokenizer.encode([english, german])
    pieces = [[*tokenizer.processor.encode(text, out_type=str), END] for text in (english, german)]
    layers = [by_words(weights, *pieces) for weights in cross_attention(folder, *ids)]
    sources, targets, _ = layers[0]
    pairs = [
        (targets.index(word), sources.index(other))
        for word, other in COUNTERPARTS.items()
        if targets.count(word) == 1 and sources.count(other) == 1
    ]
    on_counterparts = [
        statistics.fmean(weights[pair] for pair in pairs) if pairs else 0.0
        for _, _, weights in layers
    ]
    layer = int(np.argmax(on_counterparts))
    return {
        "english": sources,
        "german": targets,
        "layer": layer + 1,
        "weights": [[round(float(w), 3) for w in row] for row in layers[layer][2]],
        "words_with_counterpart": len(pairs),
        "mean_weight_on_counterpart": [round(weight, 3) for weight in on_counterparts],
    }


def measure(path: Path, place: str, here: Machine) -> dict:
    """Everything that the page shows of a run.

    Args:
        path: folder of the run.
        place: folder of Multi30k's files.
        here: what to translate on.

    Raises:
        TranslationError: it is a run of something else, one of our sentences is in the data set, or a
            file is missing or broken.
    """
    folder = RunFolder(path)
    settings = dataclasses.replace(folder.settings(), data=place)
    task = (settings.task, settings.source_language, settings.target_language)
    if task != ("multi30k", "en", "de"):
        raise TranslationError(
            f"{path} is a run of {' '.join(task)}: our sentences need one of multi30k from en to de, "
            "which --run can name"
        )
    data_set = DataSet.read(place, settings.text)
    data_set.check_new(caption.english for caption in CAPTIONS)
    translator = recipe(folder, here)
    texts = [caption.english for caption in CAPTIONS]
    written = translator(texts, **SEARCH)
    sentences = []
    for caption, german in zip(CAPTIONS, written, strict=True):
        phrases, left_over = verdicts(caption, german)
        sentences.append(
            {
                "english": caption.english,
                "german": german,
                "tests": caption.tests,
                "shown_by": caption.shown_by,
                "phrases": phrases,
                "left_over": left_over,
                "german_is_in_data": words_of(german) in data_set.german,
                "words_new_to_data": [
                    word for word in words_of(german) if word not in data_set.german_words
                ],
                "pieces": translator.tokenizer.processor.encode(caption.english, out_type=str),
                "rarest": data_set.rarest(caption.english),
                "nearest": data_set.nearest(caption.english),
            }
        )
    german = written[texts.index(MAPPED)]
    return {
        "run": score(path, place, here),
        "looked_through": data_set.looked_through,
        "sentences": sentences,
        "map": alignment(folder, translator.tokenizer, MAPPED, german),
    }


def main() -> None:
    """Measure one run and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument(
        "--data", required=True, help="folder with " + data.MULTI30K_RECIPE.partition(";")[0]
    )
    parser.add_argument("--run", help="folder of a finished run (default: the newest in runs/)")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    try:
        here = machine.choose(arguments.device, precision="float32", compile=False).take()
        path = Path(arguments.run) if arguments.run else newest(RUNS)
        save(__file__, measure(path, arguments.data, here))
    except TranslationError as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
