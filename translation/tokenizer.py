"""Subwords: one vocabulary for both languages, learned by sentencepiece."""

from __future__ import annotations

import io
import itertools
import random
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import sentencepiece

from translation import TranslationError

PAD, UNKNOWN, BOS, EOS = range(4)


class Tokenizer:
    """Text to numbers of pieces and back.

    Args:
        model: what sentencepiece saved.

    Raises:
        TranslationError: these are not the bytes of such a model.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        self.processor = sentencepiece.SentencePieceProcessor()
        try:
            self.processor.LoadFromSerializedProto(model)
        except RuntimeError as error:
            raise TranslationError("the tokenizer's file is broken or cut short") from error

    def __len__(self) -> int:
        """The number of pieces, with the four special ones."""
        return self.processor.get_piece_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Pieces of each text, with EOS at the end."""
        return [[*ids, EOS] for ids in self.processor.encode(list(texts))]

    def unknown(self, text: str) -> bool:
        """Whether a text has letters that the vocabulary lacks."""
        return UNKNOWN in self.processor.encode(text)

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of pieces, up to its first EOS; padding says nothing."""
        kept = [list(row)[: row.index(EOS)] if EOS in row else list(row) for row in map(list, rows)]
        return self.processor.decode([[piece for piece in row if piece != PAD] for row in kept])


class Rows:
    """Sentences as numbers of pieces, one after the other in one array.

    Args:
        ids: all pieces, with EOS at the end of each sentence.
        ends: where sentences begin and end: sentence n is `ids[ends[n] : ends[n + 1]]`.
    """

    def __init__(self, ids: np.ndarray, ends: np.ndarray) -> None:
        self.ids, self.ends = ids, ends
        self.lengths = np.diff(ends)

    @classmethod
    def of(cls, sentences: Iterable[Sequence[int]]) -> Rows:
        """Rows of lists of pieces."""
        writer = RowsWriter()
        for ids in sentences:
            writer.add(ids)
        return writer.rows()

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.lengths)

    def padded(self, rows: np.ndarray, width: int) -> np.ndarray:
        """Some sentences, (len(rows), width), filled up with PAD."""
        inside = np.arange(width) < self.lengths[rows, None]
        filled = np.full(inside.shape, PAD, dtype=np.int64)
        filled[inside] = self.ids[(self.ends[rows, None] + np.arange(width))[inside]]
        return filled


class RowsWriter:
    """Collects sentences in a file without a name, which vanishes with the process."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115, closed in `rows`
        self.lengths = array("q")

    def add(self, ids: Sequence[int]) -> None:
        """Append a sentence."""
        self.file.write(array("i", ids).tobytes())
        self.lengths.append(len(ids))

    def rows(self) -> Rows:
        """All sentences."""
        self.file.flush()
        ends = np.concatenate([[0], np.cumsum(np.array(self.lengths, dtype=np.int64))])
        ids = np.zeros(0, dtype=np.int32)
        if ends[-1]:
            ids = np.memmap(self.file, dtype=np.int32, mode="r")  # which needs no open file
        self.file.close()
        return Rows(ids, ends)


@dataclass(frozen=True)
class Encoded:
    """Pairs of sentences as pieces, how many were left out, and a checksum of all pieces (CRC-32), by which
    a resumed run knows its pairs."""

    sources: Rows
    targets: Rows
    empty: int
    overlong: int
    checksum: int


def encode_pairs(pairs: Iterable[tuple[str, str]], tokenizer: Tokenizer, longest: int) -> Encoded:
    """Cut pairs into pieces, some thousand at a time; only their lengths stay in memory.

    Args:
        pairs: sentences and their translations.
        tokenizer: the vocabulary.
        longest: a pair with a sentence of more pieces, EOS included, is left out, as is an empty one.
    """
    sources, targets = RowsWriter(), RowsWriter()
    empty, overlong, checksum = 0, 0, 0
    stream = iter(pairs)
    while some := list(itertools.islice(stream, 10_000)):
        encoded = (tokenizer.encode(texts) for texts in zip(*some, strict=True))
        for source, target in zip(*encoded, strict=True):
            if min(len(source), len(target)) == 1:  # EOS alone
                empty += 1
            elif max(len(source), len(target)) > longest:
                overlong += 1
            else:
                sources.add(source)
                targets.add(target)
                checksum = zlib.crc32(array("i", [*source, *target]).tobytes(), checksum)
    return Encoded(sources.rows(), targets.rows(), empty, overlong, checksum)


# of a line; SentencePiece leaves out longer ones
MAX_BYTES = 4192


def learn(
    texts: Iterable[str], vocab_size: int, kind: str = "unigram", sample: int = 500_000
) -> Tokenizer:
    """Learn a vocabulary.

    Args:
        texts: sentences of both languages. All are gone through, and `sample` of them used, drawn evenly.
        vocab_size: pieces, with the four special ones.
        kind: "unigram" (Kudo 2018), "bpe" (Sennrich et al. 2016), "char" or "word".

    Returns:
        The tokenizer.

    Raises:
        TranslationError: the texts do not give as many pieces, or have more letters than that; or all lines are too
            long, or blank.
    """
    written = io.BytesIO()
    chosen: list[str] = []
    draw = random.Random(0)
    for number, text in enumerate(filter(str.strip, texts)):
        if number < sample:
            chosen.append(text)
        elif (place := draw.randrange(number + 1)) < sample:
            chosen[place] = text
    if not chosen:
        raise TranslationError("there is no word in these texts to learn a vocabulary from")
    if min(len(text.encode()) for text in chosen) > MAX_BYTES:
        raise TranslationError(
            f"all lines are longer than {MAX_BYTES:,} bytes, so no vocabulary is learned from them: write one "
            "sentence on each line"
        )
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(chosen),
            model_writer=written,
            vocab_size=vocab_size,
            model_type=kind,
            character_coverage=1.0,
            normalization_rule_name="identity",  # what is decoded is what was encoded
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=BOS,
            eos_id=EOS,
            num_threads=1,
            max_sentence_length=MAX_BYTES,
            minloglevel=2,
        )
    except RuntimeError as error:
        # without its place in SentencePiece's sources; what has another form is shown whole
        said = str(error).split("] ")[-1].strip().splitlines() or [str(error).strip()]
        reason = said[-1].partition(" Increase")[0]
        raise TranslationError(
            f"no vocabulary of {vocab_size} pieces can be made of these texts, of another --vocab-size "
            f"it can: {reason}"
        ) from error
    return Tokenizer(written.getvalue())
