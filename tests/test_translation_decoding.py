"""Decoding with a cache, whole translations, and their scores."""

import io
import json

import pytest
import torch
from sacrebleu.metrics import BLEU

from solutions.ch6_transformer import Transformer
from solutions.ch7_training import beam_search, corpus_bleu, greedy_decode
from solutions.translation import TranslationError, machine
from solutions.translation.__main__ import main
from solutions.translation.decoding import CachedDecoder, Translator
from solutions.translation.evaluation import bleu, detokenise, exact_match, scores
from solutions.translation.model import FusedAttention
from solutions.translation.settings import complete
from solutions.translation.tokenizer import BOS, EOS, PAD, learn

VOCAB = 23


@pytest.fixture(params=[True, False], ids=["norm_first", "norm_last"])
def model(request):
    torch.manual_seed(1)
    made = Transformer(VOCAB, VOCAB, 12, 3, 2, 20, 0.3, norm_first=request.param)
    return made.double().eval()


@pytest.fixture
def source():
    ids = torch.randint(4, VOCAB, (4, 7), generator=torch.Generator().manual_seed(2))
    ids[1, 5:] = PAD
    ids[3, 2:] = PAD
    return ids


def test_cached_logits_are_those_of_the_full_pass_at_every_step(model, source):
    target = torch.randint(4, VOCAB, (4, 9), generator=torch.Generator().manual_seed(3))
    target[:, 0] = BOS
    with torch.inference_mode():
        full = model(source, target)
        for _ in range(2):  # a second decoder must not remember the first
            decoder = CachedDecoder(model, source)
            for t in range(9):
                torch.testing.assert_close(decoder.logits(target[:, : t + 1]), full[:, t])
    assert (full[:, 1:] - full[:, :-1]).abs().min(dim=-1).values.max() > 1e-6


def test_cached_log_probabilities_follow_the_beam(model, source):
    """Prefixes that are reordered, doubled and dropped."""
    with torch.inference_mode():
        decoder = CachedDecoder(model, source[:1])
        prefix = torch.tensor([[BOS]])
        draw = torch.Generator().manual_seed(4)
        for size in (3, 5, 5, 2, 1, 4):
            full = model(source[:1].expand(len(prefix), -1), prefix)[:, -1].log_softmax(-1)
            torch.testing.assert_close(decoder(prefix).double(), full, rtol=1e-5, atol=1e-5)
            parents = torch.randint(0, len(prefix), (size,), generator=draw)
            tokens = torch.randint(4, VOCAB, (size, 1), generator=draw)
            prefix = torch.cat([prefix[parents], tokens], dim=1)


def test_searches_find_the_same_with_and_without_a_cache(model, source):
    def full(sources):
        return lambda prefix: (
            model(sources.expand(len(prefix), -1), prefix)[:, -1].float().log_softmax(-1)
        )

    with torch.inference_mode():
        cached = greedy_decode(CachedDecoder(model, source), BOS, EOS, 12, 4, PAD)
        assert torch.equal(cached, greedy_decode(full(source), BOS, EOS, 12, 4, PAD))
        for row in source[:, :2]:
            one = row[None]
            ids, score = beam_search(CachedDecoder(model, one), BOS, EOS, 4, 8, 0.6)
            expected, best = beam_search(full(one), BOS, EOS, 4, 8, 0.6)
            assert ids.tolist() == expected.tolist()
            assert score == pytest.approx(best, rel=1e-4)


WORDS = ["rot", "blau", "gelb", "weiss", "braun"]


@pytest.fixture(scope="module")
def translator():
    """A model that is not trained, but always says the same for the same sentence."""
    texts = [f"{a} {b}" for a in WORDS for b in WORDS]
    tokenizer = learn(texts, 23)
    torch.manual_seed(0)
    size = len(tokenizer)
    model = Transformer(size, size, 12, 3, 1, 20, attention=FusedAttention())
    return Translator(model, tokenizer, machine.choose("cpu"), batch=3)


def test_a_batch_is_translated_as_its_sentences_are_alone(translator):
    texts = ["rot", "", "gelb braun rot", "blau weiss", "rot", "weiss rot gelb blau rot"]
    for beam in (1, 3):
        together = translator(texts, beam)
        assert together == [translator([text], beam)[0] for text in texts]
        assert together[1] == "" and together[0] == together[4]
        assert beam > 1 or len({*together}) > 2  # or else nothing could have been mixed up


def test_sentences_and_beams_that_cannot_be(translator):
    with pytest.raises(TranslationError, match=r"sentence 2 has .* pieces; .* room for 5000"):
        translator(["rot", "rot blau " * 3000])
    with pytest.raises(TranslationError, match="--beam 0"):
        translator(["rot"], beam=0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on text files that learns to say a colour in German."""
    folder = tmp_path_factory.mktemp("colours")
    colours = {"red": "rot", "blue": "blau", "green": "grün", "white": "weiß", "brown": "braun"}
    pairs = [(f"{a} {b}", f"{colours[a]} {colours[b]}") for a in colours for b in colours] * 4
    (folder / "en").write_text("".join(a + "\n" for a, _ in pairs), encoding="utf-8")
    (folder / "de").write_text("".join(b + "\n" for _, b in pairs), encoding="utf-8")
    given = {"vocab_size": 45, "d_model": 32, "heads": 2, "layers": 1, "d_ff": 64, "dropout": 0.0}
    given |= {"tokens": 400, "rate": 1e-2, "warmup": 10, "steps": 60, "save_every": 30}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    files = ["--source", str(folder / "en"), "--target", str(folder / "de")]
    valid = ["--valid-source", str(folder / "en"), "--valid-target", str(folder / "de")]
    run = ["--folder", str(folder / "run"), "--device=cpu"]
    assert main(["train", "--task=parallel", *run, *files, *valid, *words]) == 0
    return folder


def test_a_trained_run_translates_its_arguments_or_its_input(trained, capsys, monkeypatch):
    run = ["--folder", str(trained / "run"), "--device=cpu"]
    capsys.readouterr()
    assert main(["translate", *run, "green red", "blue white"]) == 0
    assert capsys.readouterr().out == "grün rot\nblau weiß\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("brown blue\n\nred red\n"))
    assert main(["translate", *run, "--beam=2"]) == 0
    assert capsys.readouterr().out == "braun blau\n\nrot rot\n"


def test_a_trained_run_is_evaluated(trained, tmp_path, capsys):
    files = ["--source", str(trained / "en"), "--target", str(trained / "de")]
    run = ["--folder", str(trained / "run"), "--device=cpu"]
    capsys.readouterr()
    for more in ([], ["--average=2", "--beam=2"], ["--attention=formula"]):
        assert main(["evaluate", *run, *files, "--output", str(tmp_path / "out"), *more]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["sentences"] == 100 and "tok:13a" in found["signature"]
        lines = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
        right = (trained / "de").read_text(encoding="utf-8").splitlines()
        assert found["exact_match"] == exact_match(lines, right)
        if not more:
            assert found["exact_match"] == 100
    metrics = (trained / "run" / "metrics.jsonl").read_text().splitlines()
    losses = [line["valid_loss"] for line in map(json.loads, metrics) if "valid_loss" in line]
    assert len(losses) == 2 and losses[1] < losses[0] < 1


def test_evaluating_needs_sentences_and_a_place_to_write(trained, capsys):
    run = ["--folder", str(trained / "run"), "--device=cpu"]
    files = ["--source", str(trained / "en"), "--target", str(trained / "de")]
    assert main(["evaluate", *run, *files, "--output", str(trained / "no" / "out")]) == 1
    assert "cannot write" in capsys.readouterr().err
    assert main(["evaluate", *run]) == 1
    assert "has no split 'test': give --source and --target" in capsys.readouterr().err


def test_bleu_is_that_of_chapter_7_on_tokens():
    written = ["a dog runs on the green grass .", "two men in a boat , fishing ."]
    right = ["a dog runs over the green grass .", "two men are in a boat , fishing ."]
    score, signature = bleu(written, right, "none")
    ours = corpus_bleu([text.split() for text in written], [text.split() for text in right])
    assert score == pytest.approx(ours) and 0 < score < 100
    assert "tok:none" in signature
    assert bleu(written, [text.upper() for text in right], "none")[0] < score
    assert bleu(written, [text.upper() for text in right], "none", lowercase=True)[0] == score


def test_detokenised_text_is_plain():
    tokens = "a man &apos;s dog , brown @-@ white , says &quot; hi &quot; ( loudly ) ."
    assert detokenise(tokens) == 'a man\'s dog, brown-white, says "hi" (loudly).'


def test_scores_of_tokenised_files_come_in_both_ways():
    settings = complete({"task": "multi30k"})
    written = ["ein mann , der in einem boot sitzt .", "zwei hunde &quot; spielen &quot; ."]
    right = ["ein mann , der in einem boot steht .", "zwei hunde &quot; spielen &quot; im gras ."]
    found = scores(written, right, settings)
    assert found["bleu_tokenised"] == pytest.approx(bleu(written, right, "none")[0])
    plain = BLEU(lowercase=True).corpus_score(
        [detokenise(t) for t in written], [[detokenise(t) for t in right]]
    )
    assert found["bleu"] == pytest.approx(plain.score)
    assert "case:lc" in found["signature"] and found["exact_match"] == 0
    assert "bleu" not in scores(["eins"], ["eins"], complete({}))
