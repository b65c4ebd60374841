"""Subwords: one vocabulary for both languages, learned by sentencepiece."""

from __future__ import annotations

import io
from collections.abc import Sequence

import sentencepiece

from solutions.translation import TranslationError

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

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of pieces, up to its first EOS; padding says nothing."""
        kept = [list(row)[: row.index(EOS)] if EOS in row else list(row) for row in map(list, rows)]
        return self.processor.decode([[piece for piece in row if piece != PAD] for row in kept])


def learn(texts: Sequence[str], vocab_size: int, kind: str = "unigram") -> Tokenizer:
    """Learn a vocabulary.

    Args:
        texts: sentences of both languages.
        vocab_size: pieces, with the four special ones.
        kind: "unigram" (Kudo 2018), "bpe" (Sennrich et al. 2016), "char" or "word".

    Returns:
        The tokenizer.

    Raises:
        TranslationError: the texts do not give as many pieces, or have more letters than that.
    """
    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
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
            minloglevel=2,
        )
    except RuntimeError as error:
        reason = str(error).split("] ")[-1].strip().splitlines()[-1]
        raise TranslationError(
            f"no vocabulary of {vocab_size} pieces can be made of these texts: {reason}"
        ) from error
    return Tokenizer(written.getvalue())
