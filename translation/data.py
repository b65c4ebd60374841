"""Where pairs of sentences come from: number words made in the process, or text files."""

from __future__ import annotations

import copy
import functools
import gzip
import hashlib
import itertools
import random
import urllib.request
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from num2words import CONVERTER_CLASSES

from translation import TranslationError
from translation.settings import Settings

Pair = tuple[str, str]
MOST = 10**18  # a range of more numbers has no length in Python
MULTI30K_SPLITS = {
    "train": "train",
    "valid": "val",
    "test": "test_2016_flickr",
    "test_2017_flickr": "test_2017_flickr",
    "test_2017_mscoco": "test_2017_mscoco",
}

# SHA-256 of the texts, not gzipped
MULTI30K_CHECKSUMS = {
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.lc.norm.tok.de": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    "test_2016_flickr.lc.norm.tok.en": "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
    "test_2017_flickr.de": "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081",
    "test_2017_flickr.en": "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98",
    "test_2017_mscoco.de": "58277df3c75f92f7145a11b910b553d1cf82c439249d4dc237c899609eafac22",
    "test_2017_mscoco.en": "43051fdfa86fd5395182e718a94ca67b1b227b9f7c79596ff0f6b813216981d2",
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.lc.norm.tok.de": "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505",
    "train.lc.norm.tok.en": "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.lc.norm.tok.de": "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
    "val.lc.norm.tok.en": "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec",
}
MULTI30K_RECIPE = (
    "the files of task 1 of Multi30K (Elliott et al. 2016; Elliott et al. 2017), from the folders "
    "data/task1/tok (train.lc.norm.tok.en, val., test_2016_flickr., ...) or data/task1/raw "
    "(--text raw) of its repository, multi30k/dataset, plain or gzipped; --download URL gets them from "
    "an address, which you must know, and checks them"
)


@functools.cache
def _converter(language: str) -> Any:
    """num2words' converter of a language, without the words above MOST. It goes through all words from the
    largest down for each part of each number, and of English words three quarters are larger."""
    known = CONVERTER_CLASSES[language]
    converter = copy.copy(known)
    if hasattr(known, "cards"):
        converter.cards = type(known.cards)((n, w) for n, w in known.cards.items() if n <= MOST)
    return converter


# a run goes through its numbers twice, for the vocabulary first
@functools.lru_cache(maxsize=2**18)
def in_words(number: int, language: str) -> str:
    """A number in words.

    Raises:
        TranslationError: num2words lacks the language, or the number in it.
    """
    if language not in CONVERTER_CLASSES:
        known = ", ".join(sorted(CONVERTER_CLASSES))
        raise TranslationError(f"num2words has no language {language!r}; it has {known}")
    try:
        return _converter(language).to_cardinal(number)
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
        below: all numbers are smaller than this; from 1,000 to 10**18.
        examples: how many to train on; fewer if there are not as many.
        held_out: how many to keep.
        seed: of the draw.

    Returns:
        Numbers to train on and numbers held out, disjoint.

    Raises:
        TranslationError: the numbers do not suffice.
    """
    if not 1000 <= below <= MOST:
        raise TranslationError(f"--below {below}: at least 1000, to hold some out, at most {MOST}")
    draw = random.Random(seed)
    classes = [range(10 ** (d - 1), min(10**d, below)) for d in range(3, len(str(below - 1)) + 1)]
    kept: list[int] = []
    pools: list[list[int]] = []
    for place, numbers in enumerate(classes):
        count = held_out // len(classes) + (place < held_out % len(classes))
        if 2 * count > len(numbers):
            raise TranslationError(
                f"--held-out {held_out} is more than half of the numbers with {place + 3} digits: "
                "hold out fewer"
            )
        drawn = draw.sample(numbers, min(len(numbers), examples + count))
        kept += drawn[:count]
        pools.append(drawn[count:])
    trained = list(range(100))
    for place, pool in enumerate(pools):  # what short numbers cannot give, longer ones do
        trained += pool[: max(0, examples - len(trained)) // (len(pools) - place)]
    return trained, kept


def decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines of text in UTF-8, stripped; the mark with which some editors begin a file is no part of it.

    Args:
        lines: as they are in a file.
        name: what an error calls them.

    Raises:
        TranslationError: a line is not UTF-8.
    """
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise TranslationError(
                f"line {number} of {name} is not UTF-8: its byte {error.start + 1} is "
                f"0x{error.object[error.start]:02x}; iconv can convert it, if you know its encoding"
            ) from error


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a text file in UTF-8, plain or gzipped, stripped, one at a time.

    Raises:
        TranslationError: it cannot be read or is empty.
    """
    path = Path(path)
    line = None
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line in decoded(file, str(path)):
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise TranslationError(f"cannot read {path}: {error}") from error
    if line is None:
        raise TranslationError(f"{path} is empty")


@dataclass(frozen=True)
class FilePairs:
    """Pairs of lines of files, each source file with the target file at the same place.

    They are read each time somebody goes through them, and never held in memory.

    Raises:
        TranslationError: at once if there are not as many of both, and while they are read if one cannot
            be read or has more lines than the other.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.sources or len(self.sources) != len(self.targets):
            raise TranslationError(
                f"{len(self.sources)} source and {len(self.targets)} target files: "
                "give as many of both"
            )

    def __iter__(self) -> Iterator[Pair]:
        for source, target in zip(self.sources, self.targets, strict=True):
            both = itertools.zip_longest(read_lines(source), read_lines(target))
            for number, (left, right) in enumerate(both, 1):
                if left is None or right is None:
                    shorter, longer = (source, target) if left is None else (target, source)
                    raise TranslationError(
                        f"{shorter} has {number - 1} lines and {longer} has more: "
                        "line n of one must be the translation of line n of the other"
                    )
                yield left, right


def multi30k_pairs(folder: str, source: str, target: str, text: str, split: str) -> FilePairs:
    """Pairs of Multi30k (Elliott et al. 2016) in the folder of its original files.

    Args:
        folder: holds `train.en.gz`, `train.lc.norm.tok.en.gz` and so on; of a file that is there both
            plain and gzipped, the plain one is read.
        source: "en" or "de"; target: the other one.
        text: "raw", or "lc.norm.tok" for the lowercased, normalised, tokenised version.
        split: "train", "valid", "test" (2016), "test_2017_flickr" or "test_2017_mscoco".

    Raises:
        TranslationError: a file is missing or broken.
    """
    if split not in MULTI30K_SPLITS:
        raise TranslationError(f"Multi30k has no split {split!r}: {', '.join(MULTI30K_SPLITS)}")
    if not folder:
        raise TranslationError(f"--task multi30k needs --data FOLDER with {MULTI30K_RECIPE}")
    middle = "" if text == "raw" else f".{text}"
    paths = []
    for language in (source, target):
        name = f"{MULTI30K_SPLITS[split]}{middle}.{language}"
        found = [
            path for path in (Path(folder) / name, Path(folder) / f"{name}.gz") if path.exists()
        ]
        if not found:
            raise TranslationError(
                f"{folder} has neither {name} nor {name}.gz; wanted are {MULTI30K_RECIPE}"
            )
        paths.append(str(found[0]))
    return FilePairs(*((path,) for path in paths))


def download_multi30k(
    url: str, folder: str, text: str, checksums: dict[str, str] = MULTI30K_CHECKSUMS
) -> None:
    """Get the files of Multi30k that are not in a folder yet, and check what they hold.

    Args:
        url: the address of a folder that has them, plain or gzipped.
        folder: where they go, gzipped.
        text: "raw" or "lc.norm.tok".
        checksums: the files, each with the SHA-256 of its text.

    Raises:
        TranslationError: a file is not there, or is another one.
    """
    if not folder:
        raise TranslationError(
            "--download needs --task multi30k and --data FOLDER, where the files are to go"
        )
    middle = "" if text == "raw" else f".{text}"
    for name, checksum in checksums.items():
        if (name.count(".") > 1) != bool(middle):
            continue
        path = Path(folder) / f"{name}.gz"
        if path.exists() or path.with_suffix("").exists():
            continue
        content = _fetch(url.rstrip("/"), name)
        if hashlib.sha256(content).hexdigest() != checksum:
            raise TranslationError(f"{name} at {url} is not the file of Multi30k: other checksum")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".part").write_bytes(gzip.compress(content, mtime=0))
            path.with_suffix(".part").replace(path)
        except OSError as error:
            raise TranslationError(f"cannot write {path}: {error.strerror}") from error


def _fetch(url: str, name: str) -> bytes:
    """The text of a file at an address, which may be gzipped there."""
    for suffix in (".gz", ""):
        try:
            with urllib.request.urlopen(f"{url}/{name}{suffix}", timeout=60) as answer:
                content = answer.read()
            return gzip.decompress(content) if suffix else content
        except (OSError, ValueError, EOFError) as error:
            reason = error
    raise TranslationError(f"--download {url} has neither {name}.gz nor {name}: {reason}")


def load(settings: Settings, split: str) -> Iterable[Pair]:
    """The pairs of one split of a run's task.

    Args:
        settings: those of the run.
        split: "train", "valid", "test", or another that the task has.

    Returns:
        Pairs (source, target), which can be gone through as often as wanted; an empty list where the task
        has no such split.
    """
    if settings.task == "numbers":
        trained, kept = split_numbers(
            settings.below, settings.examples, settings.held_out, settings.seed
        )
        numbers = {"train": trained, "test": kept}.get(split, [])
        source, target = settings.source_language, settings.target_language
        return [(in_words(n, source), in_words(n, target)) for n in numbers]
    if settings.task == "multi30k":
        languages = settings.source_language, settings.target_language
        return multi30k_pairs(settings.data, *languages, settings.text, split)
    files = {
        "train": (settings.source, settings.target),
        "valid": (settings.valid_source, settings.valid_target),
    }.get(split, ((), ()))
    if split == "train" and not (files[0] or files[1]):
        raise TranslationError("--task parallel needs --source FILE and --target FILE")
    return FilePairs(*files) if files[0] or files[1] else []
