"""Decoding with a cache, whole translations, and their scores."""

import io
import json
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU

from solutions.ch6_transformer import Transformer
from solutions.ch7_training import beam_search, corpus_bleu, greedy_decode
from tests.support.small_runs import text_files
from tests.support.tape import record
from translation import TranslationError, machine
from translation.__main__ import main
from translation.decoding import CachedDecoder, Translator, search
from translation.evaluation import against, bleu, detokenise, exact_match, scores
from translation.model import FusedAttention, build
from translation.settings import complete
from translation.tokenizer import BOS, EOS, PAD, learn

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


@pytest.fixture(params=["reference", "cpu", "cuda"])
def any_model(request, model):
    """The Transformer of chapter 6, or the trainer's with the same weights, as for a CPU or a GPU."""
    if request.param == "reference":
        return model
    given = {"d_model": 12, "heads": 3, "layers": 2, "d_ff": 20, "tie": False}
    settings = complete(given | {"norm_first": model.decoder[0].norm_first})
    made = build(settings, VOCAB, "fused", request.param).double().eval()
    weights = model.state_dict()
    del weights["positions.encoding"]
    made.load_state_dict(weights)
    made.positions.encoding = model.positions.encoding
    return made


def written_out(target, model, source, fixed=False):
    """Logits (B, T, V) of targets (B, T), one position at a time."""
    decoder = CachedDecoder(model, source, 1, target.shape[1], fixed)
    return torch.cat([decoder(target[:, t, None]) for t in range(target.shape[1])], dim=1)


def test_cached_logits_are_those_of_the_full_pass_at_every_step(any_model, model, source):
    target = torch.randint(4, VOCAB, (4, 9), generator=torch.Generator().manual_seed(3))
    target[:, 0] = BOS
    with torch.inference_mode():
        full = model(source, target).float()
        for fixed in (False, True, False):  # the next decoder must not remember the last one
            torch.testing.assert_close(written_out(target, any_model, source, fixed), full)
    assert (full[:, 1:] - full[:, :-1]).abs().min(dim=-1).values.max() > 1e-6


@pytest.mark.parametrize("fixed", [False, True])
def test_caches_follow_the_beam_and_forget_sentences(any_model, model, source, fixed):
    """Prefixes that are reordered, doubled and dropped, and sentences that are done."""
    draw = torch.Generator().manual_seed(4)
    with torch.inference_mode():
        decoder = CachedDecoder(any_model, source, 3, 8, fixed)
        tokens = torch.full((4, 3), BOS)
        prefix = tokens[..., None]
        for step in range(8):
            flat = prefix.flatten(0, 1)
            full = model(source.repeat_interleave(3, 0), flat)[:, -1].float()
            torch.testing.assert_close(decoder(tokens).flatten(0, 1), full)
            parents = torch.randint(0, 3, (len(source), 3), generator=draw)
            tokens = torch.randint(4, VOCAB, (len(source), 3), generator=draw)
            decoder.follow(parents)
            prefix = prefix.gather(1, parents[..., None].expand_as(prefix))
            prefix = torch.cat([prefix, tokens[..., None]], dim=2)
            if step == 4:
                left = torch.tensor([0, 3])
                decoder.keep(left)
                prefix, tokens, source = prefix[left], tokens[left], source[left]


@pytest.fixture
def wordy(model):
    """A model that ends sentences now and then, and whose beam matters."""
    with torch.no_grad():
        model.project.weight.mul_(2.5)
        model.project.bias[EOS] += 0.5
        for layer in model.decoder:
            layer.cross_attention.w_o.weight.mul_(3)
    return model


@pytest.fixture
def many():
    draw = torch.Generator().manual_seed(5)
    made = torch.randint(4, VOCAB, (24, 7), generator=draw)
    for row, end in enumerate(torch.randint(1, 8, (24,), generator=draw).tolist()):
        made[row, end:] = PAD
    return made


def full_step(model, source):
    """A step function for the searches of chapter 7, without a cache."""
    return lambda prefix: (
        model(source.expand(len(prefix), -1), prefix)[:, -1].float().log_softmax(-1)
    )


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_sentences_side_by_side_are_translated_as_chapter_7_does_one(wordy, many, beam, alpha):
    """Whether finished rows go or stay."""
    limits = torch.tensor([6 + row % 5 for row in range(len(many))])
    with torch.inference_mode():
        decoder = CachedDecoder(wordy, many, beam, 10, fixed=False)
        found = search(decoder, limits, alpha)
        for row, limit, ids in zip(many, limits.tolist(), found, strict=True):
            step = full_step(wordy, row[None])
            assert ids == beam_search(step, BOS, EOS, beam, limit, alpha)[0].tolist()
            if beam == 1:
                assert ids == greedy_decode(step, BOS, EOS, limit, 1, PAD)[0].tolist()
        decoder = CachedDecoder(wordy, many, beam, 10, fixed=True)
        assert search(decoder, limits, alpha, record=record) == found
    assert len({*map(tuple, found)}) > 5 and len({ids[-1] == EOS for ids in found}) == 2


def refilled(step, beam, limit, alpha):
    """fairseq's search for one sentence, as loops: twice as many candidates, and K ends are enough."""
    hypotheses, ended = [([], 0.0)], []
    for length in range(1, limit + 1):
        candidates = []
        for ids, total in hypotheses:
            log_p = step(torch.tensor([[BOS, *ids]]))[0]
            candidates += [([*ids, n], total + log_p[n].item()) for n in range(VOCAB)]
        candidates.sort(key=lambda pair: -pair[1])
        ends = [ids[-1] == EOS or length == limit for ids, _ in candidates]
        for (ids, total), over in list(zip(candidates, ends, strict=True))[:beam]:
            if over:
                ended.append((total / length**alpha, ids))
        open_ = [c for c, over in zip(candidates, ends, strict=True) if not over][:beam]
        hypotheses = open_
        if len(ended) >= beam or not open_:
            break
    return max(ended, key=lambda pair: pair[0])[1]


@pytest.mark.parametrize("fixed", [False, True], ids=["finished rows go", "finished rows stay"])
def test_a_beam_that_refills_is_that_of_fairseq(wordy, many, fixed):
    limits = torch.full((len(many),), 9)
    with torch.inference_mode():
        decoder = CachedDecoder(wordy, many, 4, 9, fixed)
        found = search(decoder, limits, 1.0, refill=True, record=record if fixed else None)
        for row, ids in zip(many, found, strict=True):
            assert ids == refilled(full_step(wordy, row[None]), 4, 9, 1.0)


class Table:
    """A decoder whose next token depends on the newest one alone."""

    beam, room, fixed = 2, 4, False

    def __init__(self, after):
        self.p = torch.full((9, 9), 1e-9)
        for token, following in after.items():
            for next_, p in following.items():
                self.p[token, next_] = p

    def __call__(self, tokens):
        return self.p.log()[tokens]

    def follow(self, parents):
        """Nothing is remembered."""

    keep = follow


def test_refilling_keeps_what_an_early_end_would_push_out():
    good, slow = 5, 6
    after = {
        BOS: {EOS: 0.5, slow: 0.3, good: 0.2},
        good: {7: 1.0},
        7: {EOS: 1.0},
        slow: {slow: 1.0},
    }
    limits = torch.tensor([4])
    assert search(Table(after), limits, 5.0, refill=True) == [[good, 7, EOS]]
    assert search(Table(after), limits, 5.0) == [[slow] * 4]


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
    given = {"vocab_size": 45, "d_model": 32, "heads": 2, "layers": 1, "d_ff": 64, "dropout": 0.0}
    given |= {"tokens": 400, "rate": 1e-2, "warmup": 10, "steps": 60, "save_every": 30}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    run = ["--folder", str(folder / "run"), "--device=cpu"]
    assert main(["train", "--task=parallel", *run, *text_files(folder, times=4), *words]) == 0
    return folder


def test_a_trained_run_translates_its_arguments_or_its_input(trained, capsys, monkeypatch):
    run = ["--folder", str(trained / "run"), "--device=cpu"]
    capsys.readouterr()
    assert main(["translate", *run, "green red", "blue white"]) == 0
    assert capsys.readouterr().out == "grün rot\nblau weiß\n"
    given = io.TextIOWrapper(io.BytesIO("\ufeffbrown blue\n\nred red\n".encode()))
    monkeypatch.setattr("sys.stdin", given)
    assert main(["translate", *run, "--beam=2"]) == 0
    told = capsys.readouterr()
    assert told.out == "braun blau\n\nrot rot\n" and "never seen" not in told.err


def test_bytes_that_are_not_utf_8_are_told_with_their_line(trained, capsys, monkeypatch):
    run = ["--folder", str(trained / "run"), "--device=cpu"]
    latin = "green red\nwei\xdf\n".encode("latin-1")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(latin)))
    assert main(["translate", *run]) == 1
    told = "line 2 of the text to translate is not UTF-8: its byte 4 is 0xdf"
    assert told in capsys.readouterr().err
    assert (
        main(["translate", *run, "green red", "wei\udcdf"]) == 1
    )  # as Python passes such a byte on
    assert told in capsys.readouterr().err


def test_who_reads_the_translations_may_have_enough(trained, tmp_path):
    """As with `| head -1`: no traceback, and the status of a process whose reader has gone."""
    (tmp_path / "text").write_text("green red\n" * 3000, encoding="utf-8")
    command = [sys.executable, "-m", "translation", "translate", "--device=cpu"]
    with (tmp_path / "text").open("rb") as file:
        process = subprocess.Popen(
            [*command, "--threads=1", f"--folder={trained / 'run'}"],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.close()
        error = process.stderr.read().decode()
    assert process.wait() == 141 and error == ""


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


def test_a_run_is_compared_with_other_translations(trained, tmp_path, capsys):
    """Those of the run itself differ by nothing; too few are refused."""
    files = ["--source", str(trained / "en"), "--target", str(trained / "de")]
    words = ["evaluate", "--folder", str(trained / "run"), "--device=cpu", *files]
    capsys.readouterr()
    assert main([*words, "--against", str(trained / "de")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["against"]["difference"] == 0 and found["against"]["p_value"] == 1
    assert found["chrf"] == 100 and "bs:1000" in found["against"]["signature"]
    others = tmp_path / "others"
    others.write_text("rot\n", encoding="utf-8")
    assert main([*words, "--against", str(others)]) == 1
    assert "1 lines for 100 sentences" in capsys.readouterr().err


def test_chance_is_as_large_as_a_bootstrap_by_hand_says():
    """Two systems that err on other sentences, beside resampling with chapter 7's function."""
    draw = np.random.default_rng(0)
    references = [" ".join(draw.choice(list("abcdefgh"), 9)) for _ in range(80)]
    systems = [
        [f"{line} a" if draw.random() < share else line for line in references]
        for share in (0.5, 0.62)
    ]
    settings = complete({"task": "multi30k"})
    found = against(*systems, references, settings)
    tokens = [[line.split() for line in lines] for lines in (*systems, references)]
    differences = []
    for _ in range(400):
        rows = draw.integers(80, size=80)
        one, other, wanted = ([lines[n] for n in rows] for lines in tokens)
        differences.append(corpus_bleu(one, wanted) - corpus_bleu(other, wanted))
    by_hand = np.mean(np.abs(np.array(differences) - np.mean(differences)) > found["difference"])
    assert 0.01 < by_hand < 0.9 and found["p_value"] == pytest.approx(by_hand, abs=0.1)
    expected = [corpus_bleu(one, tokens[2]) for one in tokens[:2]]
    assert found["difference"] == pytest.approx(expected[0] - expected[1])
    assert found["bleu_of_other"] == pytest.approx(expected[1])
    worse = against(references, [f"{line} a a" for line in references], references, settings)
    assert worse["difference"] > 10 and worse["p_value"] < 0.01


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
    # one translation lacks "im gras" of 17 tokens, and BLEU punishes that
    assert (found["length_tokenised"], found["reference_length_tokenised"]) == (15, 17)
    assert found["brevity_penalty_tokenised"] == pytest.approx(math.exp(1 - 17 / 15))
    product = math.prod(p**0.25 for p in found["precisions_tokenised"])
    expected = found["brevity_penalty_tokenised"] * product
    assert found["bleu_tokenised"] == pytest.approx(expected)
    assert 0 < found["brevity_penalty"] < 1 and len(found["precisions"]) == 4
    assert "bleu" not in scores(["eins"], ["eins"], complete({}))
