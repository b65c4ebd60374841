"""Where pairs of sentences come from: number words made in the process, or text files."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

from num2words import CONVERTER_CLASSES, num2words

from solutions.translation import TranslationError

Pair = tuple[str, str]
MULTI30K_SPLITS = {
    "train": "train",
    "valid": "val",
    "test": "test_2016_flickr",
    "test_2017_flickr": "test_2017_flickr",
    "test_2017_mscoco": "test_2017_mscoco",
}


def in_words(number: int, language: str) -> str:
    """A number in words.

    Raises:
        TranslationError: num2words lacks the language, or the number in it.
    """
    if language not in CONVERTER_CLASSES:
        known = ", ".join(sorted(CONVERTER_CLASSES))
        raise TranslationError(f"num2words has no language {language!r}; it has {known}")
    try:
        return num2words(number, lang=language)
    except (NotImplementedError, OverflowError, ArithmeticError, LookupError, TypeError) as error:
        raise TranslationError(
            f"num2words cannot say {number} in {language!r}: {error}; a smaller --below may help"
        ) from error


def split_numbers(
    below: int, examples: int, held_out: int, seed: int
) -> tuple[list[int], list[int]]:
    """Numbers to train on and numbers to keep for the test.

    All numbers below 100 are trained on. The others are drawn evenly over their numbers of digits, as
    far as there are enough with few digits.

    Args:
        below: all numbers are smaller than this, at least 1,000.
        examples: how many to train on; fewer if there are not as many.
        held_out: how many to keep.
        seed: of the draw.

    Returns:
        Numbers to train on and numbers held out, disjoint.

    Raises:
        TranslationError: the numbers do not suffice.
    """
    if below < 1000:
        raise TranslationError(f"--below {below} leaves nothing to hold out: at least 1000")
    draw = random.Random(seed)
    classes = [range(10 ** (d - 1), min(10**d, below)) for d in range(3, len(str(below - 1)) + 1)]
    kept: list[int] = []
    pools: list[list[int]] = []
    for place, numbers in enumerate(classes):
        count = held_out // len(classes) + (place < held_out % len(classes))
        if 2 * count > len(numbers):
            raise TranslationError(
                f"--held-out {held_out} is more than half of the numbers with {place + 3} digits"
            )
        drawn = draw.sample(numbers, min(len(numbers), examples + count))
        kept += drawn[:count]
        pools.append(drawn[count:])
    trained = list(range(100))
    for place, pool in enumerate(pools):  # what short numbers cannot give, longer ones do
        trained += pool[: max(0, examples - len(trained)) // (len(pools) - place)]
    return trained, kept


def read_lines(path: str | Path) -> list[str]:
    """The lines of a text file in UTF-8, plain or gzipped, stripped.

    Raises:
        TranslationError: it cannot be read, is empty, or a line is.
    """
    path = Path(path)
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise TranslationError(f"cannot read {path}: {error}") from error
    if not lines:
        raise TranslationError(f"{path} is empty")
    if "" in lines:
        raise TranslationError(
            f"{path}, line {lines.index('') + 1} is empty: take it out of both files"
        )
    return lines


def read_pairs(sources: list[str], targets: list[str]) -> list[Pair]:
    """Pairs of lines of files, each source file with the target file at the same place.

    Raises:
        TranslationError: the files do not match, or one cannot be read.
    """
    if not sources or len(sources) != len(targets):
        raise TranslationError(
            f"{len(sources)} source and {len(targets)} target files: give as many of both"
        )
    pairs: list[Pair] = []
    for source, target in zip(sources, targets, strict=True):
        left, right = read_lines(source), read_lines(target)
        if len(left) != len(right):
            raise TranslationError(
                f"{source} has {len(left)} lines and {target} has {len(right)}: "
                "line n of one must be the translation of line n of the other"
            )
        pairs += zip(left, right, strict=True)
    return pairs


def multi30k_pairs(folder: str, source: str, target: str, text: str, split: str) -> list[Pair]:
    """Pairs of Multi30k (Elliott et al. 2016) in the folder of its original files.

    Args:
        folder: holds `train.en.gz`, `train.lc.norm.tok.en.gz` and so on.
        source: "en" or "de"; target: the other one.
        text: "raw", or "lc.norm.tok" for the lowercased, normalised, tokenised version.
        split: "train", "valid", "test" (2016), "test_2017_flickr" or "test_2017_mscoco".

    Raises:
        TranslationError: a file is missing or broken.
    """
    if split not in MULTI30K_SPLITS:
        raise TranslationError(f"Multi30k has no split {split!r}: {', '.join(MULTI30K_SPLITS)}")
    middle = "" if text == "raw" else f".{text}"
    paths = []
    for language in (source, target):
        name = f"{MULTI30K_SPLITS[split]}{middle}.{language}"
        found = [
            path for path in (Path(folder) / name, Path(folder) / f"{name}.gz") if path.exists()
        ]
        if not found:
            raise TranslationError(f"{folder} has neither {name} nor {name}.gz")
        paths.append(str(found[0]))
    return read_pairs(paths[:1], paths[1:])


def load(settings: dict, split: str) -> list[Pair]:
    """The pairs of one split of a run's task.

    Args:
        settings: those of the run; see `__main__`.
        split: "train", "valid", "test", or another that the task has.

    Returns:
        Pairs (source, target); none where the task has no such split.
    """
    if settings["task"] == "numbers":
        trained, kept = split_numbers(
            *(settings[k] for k in ("below", "examples", "held_out", "seed"))
        )
        numbers = {"train": trained, "test": kept}.get(split, [])
        languages = settings["source_language"], settings["target_language"]
        return [tuple(in_words(n, language) for language in languages) for n in numbers]
    if settings["task"] == "multi30k":
        names = ("data", "source_language", "target_language", "text")
        return multi30k_pairs(*(settings[name] for name in names), split)
    files = {
        "train": (settings["source"], settings["target"]),
        "valid": (settings["valid_source"], settings["valid_target"]),
    }.get(split, ([], []))
    return read_pairs(*files) if files[0] or files[1] else []
