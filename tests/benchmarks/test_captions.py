"""The benchmark of our own captions, on a tiny data set and a run made here; and what the page says of it."""

import dataclasses
import json

import numpy as np
import pytest

from benchmarks import captions, own_captions
from benchmarks.own_captions import CAPTIONS, Caption, verdicts
from book import caption_results
from tests.support.colour_captions import WORDS, colours, write
from translation import TranslationError, machine
from translation.__main__ import main
from translation.decoding import Translator
from translation.run_folder import RunFolder

HERE = machine.Machine(machine.torch.device("cpu"))
DOG = Caption(
    "a dog that barks is chasing a ball .",
    "all",
    "that barks",
    {
        "a dog": ("ein hund",),
        "that barks": (", der ... bellt ,",),
        "is chasing": ("jagt ... nach", "jagt"),
        "a ball": ("(?:einen|einem) ball",),
    },
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A Multi30k of colours; the later test sets are there in one version only, as in the real one."""
    folder = tmp_path_factory.mktemp("data")
    write(folder, "train", colours(200, 0))
    write(folder, "val", colours(20, 1))
    write(folder, "test_2016_flickr", colours(20, 2))
    for language in ("en", "de"):
        for split in ("test_2017_flickr", "test_2017_mscoco"):
            (folder / f"{split}.{language}").write_text("A Red &amp; Blue Door.\n")
    return folder


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    """A short run on it, with two layers."""
    folder = tmp_path_factory.mktemp("runs") / "colours"
    words = ["train", "--task=multi30k", f"--data={data}", "--folder", str(folder)]
    words += ["--device=cpu", "--threads=1", "--steps=6", "--save-every=3", *WORDS]
    assert main([*words, "--layers=2"]) == 0
    return folder


@pytest.fixture
def own(monkeypatch):
    """Two sentences that a model of colours can read, longer than those that it knows."""
    chosen = tuple(
        Caption(text, text, "", {"red": ("rot",)})
        for text in ("red green red blue red red red", "brown red red red red red red")
    )
    monkeypatch.setattr(captions, "CAPTIONS", chosen)
    monkeypatch.setattr(captions, "MAPPED", chosen[0].english)
    return chosen


@pytest.mark.parametrize(
    ("german", "missing", "left_over"),
    [
        ("ein hund , der laut bellt , jagt einem ball nach .", [], ["laut"]),
        ("ein hund , der bellt , jagt einen ball .", [], []),
        ("ein hund , der bellt und jagt einen ball .", ["that barks"], ["der", "bellt", "und"]),
        ("hund jagte ein ball .", [*DOG.accepted], ["hund", "jagte", "ein", "ball"]),
    ],
)
def test_phrases_are_whole_words_in_their_place(german, missing, left_over):
    found, rest = verdicts(DOG, german)
    assert [phrase for phrase, accepted in found.items() if not accepted] == missing
    assert rest == left_over


def test_our_sentences_are_written_as_the_files_are():
    assert len({caption.english for caption in CAPTIONS}) == len(CAPTIONS) == 12
    for caption in CAPTIONS:
        assert caption.english == caption.english.lower() and caption.english.endswith(" .")
        assert caption.shown_by in ("", *caption.accepted)
        # each phrase stands in the sentence, and together they leave out nothing
        rest = caption.english.removesuffix(" .")
        for phrase in caption.accepted:
            assert phrase in rest, phrase
            rest = rest.replace(phrase, "", 1)
        assert not rest.split(), rest
    assert own_captions.MAPPED in {caption.english for caption in CAPTIONS}
    assert set(own_captions.COUNTERPARTS.values()) <= set(own_captions.MAPPED.split())


def test_every_accepted_expression_can_match():
    """None is misspelt in a way that makes it match nothing."""
    for caption in CAPTIONS:
        for phrase, expressions in caption.accepted.items():
            for expression in expressions:
                alone = dataclasses.replace(caption, accepted={phrase: (expression,)})
                assert verdicts(alone, example(expression)) == ({phrase: True}, []), expression


def example(expression):
    """The first text that an expression matches: the first of its alternatives, in and out of groups."""
    while "(?:" in expression:
        before, _, rest = expression.rpartition("(?:")
        inside, _, after = rest.partition(")")
        optional = after.startswith("?")
        expression = before + ("" if optional else inside.partition("|")[0]) + after.lstrip("?")
    return expression.partition("|")[0].replace(" ... ", " ").replace("\\.", ".")


def test_a_sentence_of_any_split_is_refused(data):
    known = captions.DataSet.read(str(data), "lc.norm.tok")
    assert [name.partition(" ")[0] for name in known.looked_through] == [
        *("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
    ]
    english = colours(20, 2)[-1][0]
    for text, place in ((english, r" \(lc\.norm\.tok\)"), ("a red & blue door .", "flickr .raw.")):
        with pytest.raises(TranslationError, match=f"occurs in .*{place}.*own_captions"):
            known.check_new(["red ox", text])
    known.check_new(["a red door ."])


def test_what_is_near_and_what_is_rare(data):
    known = captions.DataSet.read(str(data), "lc.norm.tok")
    assert known.nearest("the a red blue door") == {
        "four_grams": 2,
        "most_shared": 1,
        "in": "test_2017_flickr (raw)",
    }
    assert known.nearest("an ox")["in"] == ""
    pairs = " ".join(pair[0] for pair in colours(200, 0)).split()
    assert known.rarest("red") == {"word": "red", "in_training_pairs": pairs.count("red")}
    assert known.rarest("red door") == {"word": "door", "in_training_pairs": 0}


def test_weights_of_pieces_become_weights_of_words():
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.6, 0.1], [0.5, 0.5, 0.0]])
    sources, targets, found = captions.by_words(
        weights, ["\u2581wa", "ter", captions.END], ["\u2581wasser", "\u2581da", captions.END]
    )
    assert (sources, targets) == (["water", "(end)"], ["wasser", "da", "(end)"])
    np.testing.assert_allclose(found, [[0.3, 0.7], [0.9, 0.1], [1.0, 0.0]])
    _, _, found = captions.by_words(
        weights, ["\u2581a", "\u2581b", captions.END], ["\u2581wa", "sser", captions.END]
    )
    np.testing.assert_allclose(found, [[0.2, 0.4, 0.4], [0.5, 0.5, 0.0]])


def test_the_map_is_that_of_the_formula_in_every_layer(run):
    """Row t depends on the German before piece t, and on nothing after it."""
    folder = RunFolder(run)
    ids = folder.tokenizer().encode(["red blue green", "rot blau braun"])
    found = captions.cross_attention(folder, *ids)
    assert found.shape == (2, len(ids[1]), len(ids[0]))
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-5)
    other = captions.cross_attention(folder, ids[0], [*ids[1][:-2], 5, ids[1][-1]])
    np.testing.assert_allclose(found[:, :-1], other[:, :-1], atol=1e-6)
    assert not np.allclose(found[:, -1], other[:, -1], atol=1e-6)
    assert not np.allclose(found[0], found[1], atol=1e-4)


def test_a_run_is_measured(own, run, data):
    found = captions.measure(run, str(data), HERE)
    assert [one["english"] for one in found["sentences"]] == [caption.english for caption in own]
    assert {point["step"] for point in found["run"]["curve"]} == {3, 6}
    drawn = found["map"]
    assert drawn["english"] == [*own[0].english.split(), captions.END]
    assert np.shape(drawn["weights"]) == (len(drawn["german"]), len(drawn["english"]))
    assert len(drawn["mean_weight_on_counterpart"]) == 2
    # it can be written down, without the place of the files and without their text
    text = json.dumps(found)
    assert str(data) not in text and " ".join(words(data)) not in text


def test_words_that_no_german_sentence_has_are_named(own, run, data, monkeypatch):
    monkeypatch.setattr(Translator, "__call__", lambda *_, **__: ["rot Xa rot", "xb blau"])
    monkeypatch.setattr(captions, "score", lambda *_: {})
    found = captions.measure(run, str(data), HERE)["sentences"]
    assert [one["words_new_to_data"] for one in found] == [["xa"], ["xb"]]
    assert not any(one["german_is_in_data"] for one in found)


def words(data):
    """One sentence of the data set."""
    return max(captions.DataSet.read(str(data), "lc.norm.tok").english, key=len)


def test_a_run_of_something_else_is_refused(run, data, tmp_path, capsys, monkeypatch):
    settings = json.loads((run / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"target_language": "fr"}))
    with pytest.raises(TranslationError, match=r"multi30k en fr.*from en to de.*--run"):
        captions.measure(tmp_path, str(data), HERE)
    command = ["captions", "--data", str(data), "--run", str(tmp_path / "none"), "--device=cpu"]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit, match=r"error: .*holds no run"):
        captions.main()


# The page ---------------------------------------------------------------------------------------------


def test_the_page_shows_our_sentences_as_they_are_now():
    stored = caption_results.measured_run()
    assert [one.measured["english"] for one in stored.sentences] == [c.english for c in CAPTIONS]
    for one, caption in zip(stored.sentences, CAPTIONS, strict=True):
        phrases, left_over = verdicts(caption, one.measured["german"])
        assert (one.measured["phrases"], one.measured["left_over"]) == (phrases, left_over)


def test_a_row_says_what_is_not_as_accepted(monkeypatch):
    measured = {
        "english": "a dog barks , loudly .",
        "german": "ein hund , singt .",
        "tests": "a verb",
        "shown_by": "barks",
        "phrases": {"a dog": True, "barks": False},
        "left_over": ["singt"],
    }
    one = caption_results.Sentence(measured)
    assert not one.right and not one.shows_it
    assert one.row() == ["a dog barks, loudly.", "ein hund, singt.", "barks (singt)", "a verb"]
    assert one.in_english == ""
    monkeypatch.setitem(caption_results.IN_ENGLISH, "singt", "sings")
    assert one.row()[2] == "barks (singt, \u201csings\u201d)"
    assert "\u201csings\u201d" in one.in_english
    right = measured | {"phrases": {"a dog": True, "barks": True}, "left_over": []}
    assert caption_results.Sentence(right).row()[2] == "none"
    assert caption_results.Sentence(right | {"shown_by": ""}).shows_it
