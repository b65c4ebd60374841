"""Data, vocabulary and batches of the trainer."""

import gzip
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from num2words import num2words

from solutions.translation import TranslationError, data
from solutions.translation.batches import Batches
from solutions.translation.settings import complete
from solutions.translation.tokenizer import BOS, EOS, PAD, Rows, Tokenizer, learn


def test_all_small_numbers_are_trained_on_and_none_held_out_is():
    trained, kept = data.split_numbers(1_000_000, 5000, 1000, seed=3)
    assert set(range(100)) <= set(trained)
    assert not set(trained) & set(kept)
    assert len(set(trained)) == len(trained) == 5000
    assert [sum(len(str(n)) == d for n in kept) for d in (3, 4, 5, 6)] == [250] * 4
    assert data.split_numbers(1_000_000, 5000, 1000, seed=4)[1] != kept


def test_numbers_are_pairs_of_words_in_the_two_languages():
    settings = complete({"examples": 150, "held_out": 8, "target_language": "fr"})
    assert ("fifty-one", "cinquante et un") in data.load(settings, "train")
    assert len(data.load(settings, "test")) == 8
    assert data.load(settings, "valid") == []


@pytest.mark.parametrize(
    ("below", "held_out", "told"), [(500, 10, "--below 500"), (1000, 800, "--held-out 800")]
)
def test_too_few_numbers(below, held_out, told):
    with pytest.raises(TranslationError, match=told):
        data.split_numbers(below, 500, held_out, 0)


def test_a_language_that_num2words_lacks():
    with pytest.raises(TranslationError, match=r"no language 'xx'; it has .*\bde\b"):
        data.in_words(3, "xx")


def test_text_files_plain_and_gzipped(tmp_path):
    (tmp_path / "a.en").write_text("one\ntwo\n", encoding="utf-8")
    with gzip.open(tmp_path / "a.de.gz", "wt", encoding="utf-8") as file:
        file.write("eins\nfünf \n")
    names = [[str(tmp_path / "a.en")], [str(tmp_path / "a.de.gz")]]
    assert list(data.FilePairs(*names)) == [("one", "eins"), ("two", "fünf")]


@pytest.mark.parametrize(
    ("source", "target", "told"),
    [
        (b"a\nb\nc\n", b"a\nb\n", "target has 2 lines and .*source has more"),
        (b"", b"", "is empty"),
        (b"a\n", b"\xff\xfe\n", "cannot read"),
        (b"a\n", None, "No such file"),
    ],
)
def test_text_files_that_do_not_fit(tmp_path, source, target, told):
    paths = [tmp_path / "source", tmp_path / "target"]
    for path, content in zip(paths, (source, target), strict=True):
        if content is not None:
            path.write_bytes(content)
    with pytest.raises(TranslationError, match=told) as raised:
        list(data.FilePairs((str(paths[0]),), (str(paths[1]),)))
    assert "\n" not in str(raised.value)


def test_a_gzipped_file_cut_short(tmp_path):
    whole = gzip.compress("\n".join(map(str, range(2000))).encode())
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TranslationError, match="cannot read"):
        list(data.read_lines(tmp_path / "cut.gz"))


def test_as_many_source_files_as_target_files():
    with pytest.raises(TranslationError, match="2 source and 1 target"):
        data.FilePairs(("a", "b"), ("c",))


def test_multi30k_reads_the_original_names(tmp_path):
    (tmp_path / "val.lc.norm.tok.en").write_text("a dog .\n", encoding="utf-8")
    with gzip.open(tmp_path / "val.lc.norm.tok.de.gz", "wt", encoding="utf-8") as file:
        file.write("ein hund .\n")
    given = {"task": "multi30k", "data": str(tmp_path)}
    assert list(data.load(complete(given), "valid")) == [("a dog .", "ein hund .")]
    back = complete(given | {"source_language": "de", "target_language": "en"})
    assert list(data.load(back, "valid")) == [("ein hund .", "a dog .")]
    with pytest.raises(TranslationError, match=r"neither train\.lc\.norm\.tok\.en nor"):
        data.load(complete(given), "train")
    with pytest.raises(TranslationError, match="no split 'tset'"):
        data.load(complete(given), "tset")


@pytest.fixture(scope="module")
def texts():
    return [num2words(n, lang=language) for n in range(400) for language in ("en", "de")]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_decoding_undoes_encoding(texts, kind):
    tokenizer = learn(texts, 60 if kind != "char" else 35, kind)
    rows = tokenizer.encode(texts)
    assert all(row[-1] == EOS and EOS not in row[:-1] and PAD not in row for row in rows)
    assert max(max(row) for row in rows) < len(tokenizer)
    assert tokenizer.decode([[*row, PAD, PAD] for row in rows]) == texts
    assert Tokenizer(tokenizer.model).encode(texts) == rows


@pytest.mark.parametrize("size", [5000, 10])
def test_a_vocabulary_that_the_texts_do_not_give(texts, size):
    with pytest.raises(TranslationError, match=f"no vocabulary of {size} pieces") as raised:
        learn(texts, size)
    assert "\n" not in str(raised.value)


def test_a_broken_tokenizer(texts):
    with pytest.raises(TranslationError, match="broken or cut short"):
        Tokenizer(learn(texts, 60).model[:100])


@pytest.fixture
def sentences():
    """Lengths as in image captions: a bell, source and target correlated."""
    draw = random.Random(0)
    sources = [
        [draw.randrange(4, 99) for _ in range(max(3, int(draw.gauss(14, 4))))]
        for _ in range(10_000)
    ]
    targets = [
        [draw.randrange(4, 99) for _ in range(max(3, len(row) + draw.randint(-4, 4)))]
        for row in sources
    ]
    return [[*row, EOS] for row in sources], [[*row, EOS] for row in targets]


def stream(sentences, tokens, seed=5, **more):
    rows = tuple(map(Rows.of, sentences))
    return Batches(lambda epoch: rows, tokens, seed, **more)


def test_an_epoch_has_every_pair_once_in_batches_that_are_full_but_not_too_large(sentences):
    batches = stream(sentences, 1000)
    seen = []
    for n in range(len(batches)):
        source, target = batches[n].source, batches[n].target
        assert len(source) * max(source.shape[1], target.shape[1] - 1) <= 1000
        assert (target[:, 0] == BOS).all()
        assert batches.predicted(n) == int((target[:, 1:] != PAD).sum())
        for left, right in zip(source.tolist(), target.tolist(), strict=True):
            seen.append((tuple(x for x in left if x), tuple(x for x in right[1:] if x)))
    assert sorted(seen) == sorted((tuple(a), tuple(b)) for a, b in zip(*sentences, strict=True))


@pytest.mark.parametrize("tokens", [1000, 4000])
def test_padding_is_below_a_tenth(sentences, tokens):
    batches = stream(sentences, tokens)
    assert 0 < batches.padding() < 0.10
    shuffled = stream(sentences, tokens)
    epoch = shuffled._epoch(0)
    apart = [np.arange(n, n + 50) for n in range(0, 10_000, 50)]
    shuffled._epoch = lambda number: replace(epoch, batches=apart)
    assert shuffled.padding() > 0.25  # what bucketing saves


def test_batches_depend_on_seed_and_number_alone(sentences):
    forward, backward = (stream(sentences, 1000) for _ in range(2))
    numbers = [0, 3, len(forward) - 1, len(forward), 2 * len(forward) + 1]
    there = [forward[n] for n in numbers]
    back = [backward[n] for n in reversed(numbers)][::-1]
    for one, two in zip(there, back, strict=True):
        assert torch.equal(one.source, two.source) and torch.equal(one.target, two.target)
    assert not torch.equal(there[0].source, there[3].source)  # another epoch, another order
    other = stream(sentences, 1000, 6)
    assert any(not torch.equal(forward[n].source, other[n].source) for n in range(3))
