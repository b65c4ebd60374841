"""Data, vocabulary and batches of the trainer."""

import gzip
import hashlib
import random

import numpy as np
import pytest
import torch
from num2words import num2words

from translation import TranslationError, data
from translation.batches import Batches
from translation.settings import complete
from translation.tokenizer import (
    BOS,
    EOS,
    PAD,
    Rows,
    Tokenizer,
    encode_pairs,
    learn,
)


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


def test_a_run_puts_its_numbers_into_words_once():
    settings = complete({"examples": 150, "held_out": 8, "seed": 7})
    pairs = data.load(settings, "train")
    before = data.in_words.cache_info()
    assert data.load(settings, "train") == pairs
    after = data.in_words.cache_info()
    assert after.misses == before.misses and after.hits == before.hits + 2 * len(pairs)
    both = 2 * (settings.held_out + complete({}).examples)
    assert after.maxsize > both  # all numbers of the default run


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
        (b"a\n", b"\xff\xfe\n", "line 1 of .*target is not UTF-8"),
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
    broken = whole[:300] + b"\xff" * 40 + whole[340:]
    (tmp_path / "broken.gz").write_bytes(broken)
    with pytest.raises(TranslationError, match=r"cannot read .*broken\.gz"):
        list(data.read_lines(tmp_path / "broken.gz"))
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TranslationError, match="cannot read"):
        list(data.read_lines(tmp_path / "cut.gz"))


def test_the_mark_at_the_beginning_of_a_file_is_no_letter(tmp_path):
    text = "\ufeffrot\nbl\ufeffau\r\n\ufeffgelb\n".encode()
    (tmp_path / "text").write_bytes(text)
    (tmp_path / "text.gz").write_bytes(gzip.compress(text))
    for name in ("text", "text.gz"):
        assert list(data.read_lines(tmp_path / name)) == ["rot", "bl\ufeffau", "\ufeffgelb"]


@pytest.mark.parametrize("name", ["latin", "latin.gz"])
def test_a_line_that_is_not_utf_8_is_named(tmp_path, name):
    text = "grün\n".encode() + "weiß\n".encode("latin-1")
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    told = rf"line 2 of .*{name} is not UTF-8: its byte 4 is 0xdf; iconv can convert it"
    with pytest.raises(TranslationError, match=told):
        list(data.read_lines(tmp_path / name))


def test_pairs_that_are_empty_or_too_long_are_left_out_and_counted(texts):
    tokenizer = learn(texts, 60)
    good = [("eins", "one"), ("zwei drei", "two three")]
    pairs = [good[0], ("", "one"), ("eins", ""), ("eins " * 40, "one"), good[1]]
    found = encode_pairs(iter(pairs), tokenizer, 30)
    assert (found.empty, found.overlong) == (2, 1)
    for rows, side in ((found.sources, 0), (found.targets, 1)):
        ids = [rows.ids[rows.ends[n] : rows.ends[n + 1]].tolist() for n in range(len(rows))]
        assert tokenizer.decode(ids) == [pair[side] for pair in good]


@pytest.fixture(scope="module")
def download(tmp_path_factory):
    """A place with two files, one of them gzipped, and their checksums."""
    place = tmp_path_factory.mktemp("place")
    contents = {"val.lc.norm.tok.en": b"a dog .\n", "val.lc.norm.tok.de": b"ein hund .\n"}
    (place / "val.lc.norm.tok.en").write_bytes(contents["val.lc.norm.tok.en"])
    (place / "val.lc.norm.tok.de.gz").write_bytes(gzip.compress(contents["val.lc.norm.tok.de"]))
    return place.as_uri(), {
        name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
    }


def test_downloaded_files_are_checked_and_kept(download, tmp_path):
    url, checksums = download
    folder = tmp_path / "new" / "folder"
    data.download_multi30k(url + "/", str(folder), "lc.norm.tok", checksums)
    assert list(data.load(complete({"task": "multi30k", "data": str(folder)}), "valid")) == [
        ("a dog .", "ein hund .")
    ]
    data.download_multi30k("file:///nowhere", str(folder), "lc.norm.tok", checksums)  # all there


def test_a_download_that_fails_leaves_nothing(download, tmp_path):
    url, checksums = download
    with pytest.raises(TranslationError, match=r"val\.lc\.norm\.tok\.en at .*: other checksum"):
        broken = dict.fromkeys(checksums, "0" * 64)
        data.download_multi30k(url, str(tmp_path), "lc.norm.tok", broken)
    with pytest.raises(TranslationError, match=r"has neither val\.lc\.norm\.tok\.en\.gz nor"):
        data.download_multi30k(url + "/no", str(tmp_path), "lc.norm.tok", checksums)
    assert not list(tmp_path.iterdir())


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


def test_a_vocabulary_is_learned_from_a_sample(texts):
    """Of as many texts as wanted, drawn evenly: the last ones count, too."""
    rare = [*texts, *["zyx"] * 2000]
    small = learn(iter(rare), 30, "char", sample=300)
    assert not small.unknown("zyx")
    assert learn(iter(rare), 30, "char", sample=300).model == small.model


def test_texts_of_long_or_blank_lines_are_told(texts):
    with pytest.raises(TranslationError, match=r"longer than 4,192 .*one sentence on each line"):
        learn([" ".join(texts * 100)], 50)
    with pytest.raises(TranslationError, match="no word in these texts"):
        learn(["", " ", "\t\u3000"], 50)
    assert learn([*texts, "x " * 5000], 60).model == learn(texts, 60).model


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
    return Batches(*map(Rows.of, sentences), tokens, seed, **more)


def padding(batches):
    """The share of padding among all entries of an epoch, source and target together."""
    entries = [
        x for n in range(len(batches)) for x in (batches[n].source, batches[n].target[:, 1:])
    ]
    return sum((x == PAD).sum() for x in entries) / sum(x.numel() for x in entries)


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
    assert 0 < padding(batches) < 0.10
    shuffled = stream(sentences, tokens)
    apart = [np.arange(n, n + 50) for n in range(0, 10_000, 50)]
    shuffled._epoch = lambda number: apart
    assert padding(shuffled) > 0.25  # what bucketing saves


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


@pytest.mark.parametrize("language", ["en", "de", "fr", "ja"])
def test_numbers_in_words_are_those_of_num2words(language):
    """Though the words above the largest number are left out."""
    numbers = [*range(0, 10**6, 9973), *(10**n + 7**n for n in range(7, 18)), data.MOST - 1]
    assert [data.in_words(n, language) for n in numbers] == [
        num2words(n, lang=language) for n in numbers
    ]
