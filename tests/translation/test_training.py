"""The trainer: what a step computes, and how a run ends, goes on, and fails."""

import math
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from solutions.ch2_scaled_dot_product import attention
from solutions.ch6_transformer import shift
from tests.support.small_runs import stopped_after, text_files
from translation import TranslationError, data, machine, optimization, trainer
from translation.__main__ import main
from translation.model import FusedAttention, build, n_parameters
from translation.run_folder import RunFolder
from translation.settings import complete
from translation.tokenizer import PAD, learn

SMALL = {
    "vocab_size": 80,
    "d_model": 16,
    "heads": 2,
    "layers": 1,
    "d_ff": 32,
    "dropout": 0.2,
    "smoothing": 0.1,
    "tokens": 250,
    "warmup": 4,
    "save_every": 3,
    "log_every": 2,
    "examples": 200,
    "held_out": 20,
}
CPU = machine.choose("cpu")


def command(run, *more, **changed):
    """The arguments of a small training run."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in (SMALL | changed).items()]
    return ["train", "--folder", str(run), "--device=cpu", "--threads=1", *words, *map(str, more)]


def weights(run):
    """The weights of a run's last checkpoint."""
    return RunFolder(run).read()["model"]


def same(one, other):
    """Whether two sets of weights are the same, bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of six steps."""
    run = tmp_path_factory.mktemp("run") / "six"
    assert main(command(run, steps=6)) == 0
    return run


@pytest.fixture
def pairs():
    words = ["rot", "blau", "gelb", "weiß", "schwarz", "braun"]
    texts = [" ".join(words[n % 6] for n in range(i, i + 1 + i % 4)) for i in range(40)]
    return [(text + " rot", text) for text in texts]


@pytest.fixture
def tokenizer(pairs):
    return learn([text for pair in pairs for text in pair], 28)


def small_trainer(tokenizer, pairs, attention="fused", **changed):
    settings = complete(SMALL | {"steps": 9} | changed)
    return trainer.Trainer(
        settings, machine.choose("cpu", attention=attention), tokenizer, pairs, []
    )


def test_fused_attention_is_the_formula():
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 4, 6), torch.randn(2, 3, 5, 6), torch.randn(2, 3, 5, 6)
    mask = torch.rand(2, 1, 4, 5) < 0.5
    mask[0, 0, 2] = False
    inputs = [x.double().requires_grad_() for x in (query, key, value)]
    fused = FusedAttention()
    ours, none = fused(*inputs, mask)
    expected, _ = attention(*inputs, mask)
    assert none is None
    torch.testing.assert_close(ours, expected)
    assert (ours[0, :, 2] == 0).all() and expected[0, :, 1].any()
    for a, b in zip(
        *(torch.autograd.grad(out.sin().sum(), inputs) for out in (ours, expected)), strict=True
    ):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(fused(*inputs)[0], attention(*inputs)[0])


def test_a_step_is_adam_on_the_mean_over_all_tokens(tokenizer, pairs):
    run = small_trainer(tokenizer, pairs, dropout=0.0, tokens=50, accumulate=3, clip=1e9)
    by_hand = build(run.settings, len(tokenizer), "formula")
    by_hand.load_state_dict(run.model.state_dict())
    rows = [(run.batches[n].source, run.batches[n].target) for n in range(3)]
    assert len({target.shape for _, target in rows}) > 1
    total = tokens = 0
    for source, target in rows:
        target_in, target_out = shift(target)
        logits = by_hand(source, target_in).flatten(0, 1)
        total += F.cross_entropy(
            logits, target_out.flatten(), ignore_index=PAD, label_smoothing=0.1, reduction="sum"
        )
        tokens += int((target_out != PAD).sum())
    (total / tokens).backward()
    optimizer = torch.optim.AdamW(by_hand.parameters(), 1e-3 / 2, (0.9, 0.98), 1e-9, 0.0)
    optimizer.step()
    run.settings = replace(run.settings, rate=2e-3, warmup=4)  # the first of four steps up to 2e-3
    loss, norm, work = run.train_step()
    assert work.tokens == tokens
    torch.testing.assert_close(float(loss), total.item() / tokens, rtol=1e-5, atol=0)
    gradients = [p.grad.flatten() for p in by_hand.parameters()]
    torch.testing.assert_close(norm, torch.cat(gradients).norm(), rtol=1e-4, atol=0)
    for (name, a), b in zip(run.model.named_parameters(), by_hand.parameters(), strict=True):
        if not name.endswith("w_k.bias"):  # has no gradient but rounding, which Adam makes large
            torch.testing.assert_close(a, b, rtol=1e-4, atol=2e-6, msg=name)


def test_weight_decay_is_for_matrices_alone(tokenizer, pairs):
    """With a rate of nearly nothing all that a step would change is by decay."""
    run = small_trainer(tokenizer, pairs, weight_decay=1e10, rate=1e-11, warmup=1)
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.fill_(1.0)
    run.train_step()
    for name, parameter in run.model.named_parameters():
        assert parameter.mean().item() == pytest.approx(0.9 if parameter.dim() > 1 else 1.0), name


def test_the_learning_rate_rises_and_falls():
    settings = complete({"warmup": 10, "steps": 100, "rate": 0.5})
    cosine = [optimization.learning_rate(step, settings) for step in range(1, 101)]
    assert cosine[9] == max(cosine) == 0.5 and cosine[4] == 0.25
    assert cosine[54] == pytest.approx(0.25) and cosine[-1] == pytest.approx(0, abs=1e-12)
    settings = replace(settings, schedule="noam")
    noam = [optimization.learning_rate(step, settings) for step in range(1, 101)]
    assert noam[9] == max(noam) == pytest.approx(0.5) and noam[39] == pytest.approx(0.25)


def test_tied_parameters_are_one(tokenizer):
    tied, untied = (build(complete(SMALL | {"tie": tie}), 45, "fused") for tie in (True, False))
    assert n_parameters(untied) - n_parameters(tied) == 2 * 45 * 16
    assert tied.project.weight is tied.source_embedding.weight is tied.target_embedding.weight


def test_the_published_setting_stays_within_2_7_million_parameters():
    assert (
        2_500_000
        < n_parameters(build(complete({"task": "multi30k"}), 10_000, "fused"))
        <= 2_700_000
    )


def test_a_run_leaves_its_folder(finished):
    folder = RunFolder(finished)
    assert folder.settings().d_model == 16
    lines = folder.measured()
    assert [line["step"] for line in lines] == [2, 3, 4, 6]
    assert all(math.isfinite(line["loss"]) and line["tokens_per_second"] > 0 for line in lines)
    assert [path.name for path in folder.weights()] == ["weights-000003.pt", "weights-000006.pt"]
    assert not list(finished.glob("*.part"))


def test_averaged_weights_are_the_mean(finished):
    folder = RunFolder(finished)
    one, other = (folder.read(path) for path in folder.weights())
    mean, _ = folder.trained_weights(2)
    name = "project.weight"
    torch.testing.assert_close(mean[name], (one[name] + other[name]) / 2)
    assert not torch.equal(one[name], other[name])
    assert same(folder.trained_weights()[0], weights(finished))
    with pytest.raises(TranslationError, match="weights of 2 checkpoints, not of 3"):
        folder.trained_weights(3)


def test_resuming_gives_the_same_bits(finished, tmp_path):
    assert main(command(tmp_path, steps=6, seed=1)) == 0
    assert not same(weights(tmp_path), weights(finished))
    for part in tmp_path.iterdir():
        part.unlink()
    with stopped_after(3):
        assert main(command(tmp_path, steps=6)) == 130
    assert RunFolder(tmp_path).read()["step"] == 3
    assert main(["train", "--folder", str(tmp_path), "--device=cpu", "--resume"]) == 0
    assert same(weights(tmp_path), weights(finished))
    one, other = (RunFolder(run).read()["optimizer"]["state"] for run in (tmp_path, finished))
    assert all(torch.equal(one[n]["exp_avg_sq"], other[n]["exp_avg_sq"]) for n in one)
    losses = [RunFolder(run).measured()[-1]["loss"] for run in (tmp_path, finished)]
    assert losses[0] == losses[1]


def test_steps_done_again_are_measured_once(finished, tmp_path):
    assert main(command(tmp_path, steps=5)) == 0
    folder = RunFolder(tmp_path)
    folder.add({"step": 6, "loss": 99.0})  # as if it had died after step 6, before its checkpoint
    assert main(["train", "--folder", str(tmp_path), "--device=cpu", "--resume", "--steps=6"]) == 0
    assert [line["step"] for line in folder.measured()] == [2, 3, 4, 5, 6]
    assert folder.measured()[-1]["loss"] < 99
    assert folder.settings().steps == 6


def failure(capsys, arguments):
    """The one line that a command ends with."""
    assert main(arguments) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("Error: ")
    return lines[-1]


@pytest.mark.parametrize("bad", ["loss", "gradient"])
def test_a_loss_that_is_no_number_stops_the_run(tmp_path, capsys, monkeypatch, bad):
    step = trainer.Trainer.train_step
    wrong = {"loss" if bad == "loss" else "norm": torch.tensor(math.nan)}

    def fails_at_five(self):
        done = step(self)
        return done if self.step < 5 else done._replace(**wrong)

    monkeypatch.setattr(trainer.Trainer, "train_step", fails_at_five)
    told = failure(capsys, command(tmp_path, steps=9, log_every=4))
    assert f"the {bad} of step 5 is not a number" in told and "last.pt" in told
    assert RunFolder(tmp_path).read()["step"] == 3
    assert all(value.isfinite().all() for value in weights(tmp_path).values())


def test_a_rate_that_is_far_too_high_is_noticed(tmp_path, capsys):
    told = failure(capsys, command(tmp_path, steps=9, rate=1e30, warmup=1, save_every=9))
    assert "of step 2 is not a number" in told
    assert "lower --rate" in told and "last.pt" not in told  # there is none yet


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, capsys):
    assert main(command(tmp_path, steps=3)) == 0
    before = weights(tmp_path)
    (tmp_path / "last.pt.part").symlink_to("/dev/full")
    arguments = ["train", "--folder", str(tmp_path), "--device=cpu", "--resume", "--steps=6"]
    assert "No space left on device; what was there before is unharmed" in failure(
        capsys, arguments
    )
    assert same(weights(tmp_path), before)
    assert main(arguments) == 0


def copy_run(run, target):
    """A copy of a run's folder."""
    target.mkdir()
    for path in run.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    return target


def test_a_checkpoint_cut_short(finished, tmp_path, capsys):
    run = copy_run(finished, tmp_path / "cut")
    for name in ("last.pt", "weights-000006.pt"):
        (run / name).write_bytes((run / name).read_bytes()[:3000])
    arguments = ["train", "--folder", str(run), "--device=cpu", "--resume"]
    assert "last.pt is cut short or no checkpoint" in failure(capsys, arguments)
    assert "000006.pt is cut short" in failure(capsys, ["translate", "--folder", str(run), "one"])


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("d_model", 24, "of another shape: .* is .*16.* there and .*24"),
        ("layers", 2, "of another model: the checkpoint lacks decoder.1"),
    ],
)
def test_a_checkpoint_of_another_shape(finished, tmp_path, name, value, told):
    run = copy_run(finished, tmp_path / "other")
    folder = RunFolder(run)
    folder.write_settings(replace(folder.settings(), **{name: value}))
    with pytest.raises(TranslationError, match=told):
        from translation.decoding import Translator

        Translator.load(folder, CPU)


def test_a_folder_that_has_a_run_is_not_overwritten(finished, capsys):
    before = weights(finished)
    told = failure(capsys, command(finished, steps=2))
    assert "already holds a run" in told and f"--folder {finished}-2 begins another" in told
    assert same(weights(finished), before)


def test_resume_keeps_the_settings(finished, tmp_path, capsys):
    assert "d_model is 16, not 24" in failure(capsys, command(finished, "--resume", d_model=24))
    assert "holds no run" in failure(capsys, ["train", "--folder", str(tmp_path), "--resume"])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"vocab_size": 5000}, "no vocabulary of 5000 pieces"),
        ({"below": 500}, "--below 500"),
        ({"target_language": "xx"}, "num2words has no language 'xx'"),
        ({"heads": 3}, "--heads 3 does not divide --d-model 16"),
        ({"key_heads": 3}, "--key-heads 3 does not divide --heads 2"),
        ({"d_model": 14, "positions": "rope"}, "turns pairs of numbers, and a head has 7"),
        ({"steps": 0}, "--steps 0 is too small: at least 1"),
        ({"dropout": 1.0}, "--dropout 1.0 must be below 1"),
        ({"rate": -1.0}, "--rate -1.0 must be a number that is not negative"),
        ({"rate": math.nan}, "--rate nan must be a number"),
        ({"rate": math.inf}, "--rate inf must be a number"),
        ({"vocab_size": 5}, "of another --vocab-size it can: Vocabulary size is smaller than"),
        ({"below": 10**30}, f"at least 1000, to hold some out, at most {10**18}"),
        ({"held_out": 2000}, "more than half of the numbers with 3 digits: hold out fewer"),
        (
            {"longest": 1},
            "all 200 are empty or have a sentence of more than 1 pieces, which --longest",
        ),
        ({"task": "parallel"}, "needs --source FILE and --target FILE"),
    ],
)
def test_settings_that_cannot_be(tmp_path, capsys, changed, told):
    assert told in failure(capsys, command(tmp_path / "run", **changed))
    assert not (tmp_path / "run" / "last.pt").exists()


def test_a_device_that_is_not_there(capsys, tmp_path):
    there = torch.cuda.device_count()
    for device in (["cuda"] if not there else []) + ["cudo"]:
        told = failure(capsys, ["train", "--folder", str(tmp_path), "--device", device])
        assert f"--device {device}" in told and "--device auto takes" in told


def parallel(folder, *more, **changed):
    """Arguments of a run that learns to say a colour in German, with validation pairs."""
    files = text_files(folder)
    settings = {"vocab_size": 45, "smoothing": 0.0, "rate": 1e-2} | changed
    return command(folder / "run", "--task=parallel", *files, *more, **settings)


def test_validation_has_bleu_and_keeps_the_best(tmp_path):
    assert main(parallel(tmp_path, steps=30, save_every=5, keep=9, dropout=0.0)) == 0
    folder = RunFolder(tmp_path / "run")
    lines = [line for line in folder.measured() if "valid_bleu" in line]
    assert [line["step"] for line in lines] == [5, 10, 15, 20, 25, 30]
    assert all(0 <= line["processor_seconds"] <= 60 and line["valid_loss"] > 0 for line in lines)
    scores = [line["valid_bleu"] for line in lines]
    best = lines[scores.index(max(scores))]["step"]
    expected = folder.read(folder.path / f"weights-{best:06d}.pt")
    assert same(folder.read(folder.best), expected)
    assert same(folder.trained_weights(best=True)[0], expected)


def test_patience_ends_a_run_that_gets_no_better(tmp_path, capsys):
    """With a rate of nearly nothing, no checkpoint is better than the first."""
    changed = {"rate": 1e-12, "steps": 50, "save_every": 2, "patience": 3}
    assert main(parallel(tmp_path, **changed)) == 0
    lines = [line for line in RunFolder(tmp_path / "run").measured() if "valid_bleu" in line]
    assert [line["step"] for line in lines] == [2, 4, 6, 8]
    assert "trained 8 steps" in capsys.readouterr().err


def test_an_epoch_ends_with_a_checkpoint(tmp_path):
    assert main(parallel(tmp_path, steps=7, save_every=0, tokens=40, accumulate=2)) == 0
    found = [int(path.stem.split("-")[1]) for path in RunFolder(tmp_path / "run").weights()]
    run = trainer.Trainer(
        RunFolder(tmp_path / "run").settings(),
        CPU,
        RunFolder(tmp_path / "run").tokenizer(),
        data.FilePairs((str(tmp_path / "en"),), (str(tmp_path / "de"),)),
        [],
    )
    epochs = [run.batches.epoch_of(2 * step) for step in range(8)]
    ends = [step for step in range(1, 8) if epochs[step] > epochs[step - 1]]
    assert len(ends) > 1 and found == sorted({*ends, 7})


def test_a_run_goes_on_where_its_text_lies_now(tmp_path, capsys):
    """The same files in another folder are as good; other texts are refused, since the place in the data
    would mean nothing."""
    whole, moved = tmp_path / "whole", tmp_path / "moved"
    for folder in (whole, moved):
        folder.mkdir()
    words = {"schedule": "noam", "tokens": 60}
    assert main(parallel(whole, steps=6, **words)) == 0
    assert main(parallel(moved, steps=3, **words)) == 0
    now = tmp_path / "here"
    moved.rename(now)
    resume = ["train", f"--folder={now / 'run'}", "--device=cpu", "--threads=1", "--resume"]
    resume += ["--steps=6", f"--source={now / 'en'}", f"--target={now / 'de'}"]
    assert "moved/" in failure(capsys, resume)  # that is where the validation pairs were
    resume += [f"--valid-source={now / 'en'}", f"--valid-target={now / 'de'}"]
    text = (now / "de").read_text(encoding="utf-8")
    (now / "de").write_text(text.replace("rot", "gelb"), encoding="utf-8")
    told = failure(capsys, resume)
    assert "not the pairs that" in told and "begin a new run" in told
    (now / "de").write_text(text, encoding="utf-8")
    assert main(resume) == 0
    one, other = (RunFolder(folder / "run") for folder in (whole, now))
    assert same(one.read()["model"], other.read()["model"])
    assert other.settings().source == (str(now / "en"),)


def test_a_run_without_a_folder_gets_one_and_the_newest_is_used(tmp_path, capsys, monkeypatch):
    """The same commands work twice."""
    monkeypatch.chdir(tmp_path)
    words = [word for word in command("", steps=2) if word not in ("--folder", "")]
    for name in ("numbers", "numbers-2"):
        assert main(words) == 0
        assert (tmp_path / "runs" / name / "last.pt").exists()
        capsys.readouterr()
        assert main(["translate", "--device=cpu", "one"]) == 0
        kept = tmp_path / f"kept-{name}"
        kept.mkdir()
        for path in (tmp_path / "runs" / name).glob("*.pt"):
            path.rename(kept / path.name)
        assert main(["translate", "--device=cpu", "one"]) == 1  # it was this one that was used
        for path in kept.iterdir():
            path.rename(tmp_path / "runs" / name / path.name)
    assert main(["train", "--device=cpu", "--threads=1", "--resume", "--steps=3"]) == 0
    assert RunFolder("runs/numbers-2").read()["step"] == 3
    assert RunFolder("runs/numbers").read()["step"] == 2


def test_training_ends_with_five_translations(tmp_path, capsys):
    assert main(command(tmp_path / "run", steps=2)) == 0
    told = capsys.readouterr().err.splitlines()
    assert sum(" -> " in line for line in told) == 5
    assert any("exact match on 20 pairs that it has not seen: " in line for line in told)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train", "--task=multi30k"], "needs --data FOLDER .*multi30k/dataset.*--download URL"),
        (["train", "--task=multi30k", "--data=no"], r"no has neither train\.lc\.norm\.tok\.en"),
        (["train", "--task=multi30k", "--download=file:///no"], "needs --task multi30k and --data"),
        (["train", f"--d-model={10**30}"], "no machine can hold .* make --d-model"),
        (["train", f"--layers={10**12}"], "no machine can hold such a model"),
        (["train", "--longest=2000"], "--longest 2000 is too large: at most 1000"),
        (["train", "--download=file:///no", "--data=d"], "--download needs --task multi30k"),
        (["train", "--threads=0"], "--threads 0: at least 1"),
        (["translate", "--folder=none", "one"], "none holds no run.*train one first"),
        (["translate", "one"], "no run in runs yet: train one first"),
        (["train", "--resume"], "no run in runs yet: train one first"),
    ],
)
def test_wrong_use_ends_in_a_sentence_with_the_way_out(tmp_path, capsys, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    assert re.search(told, failure(capsys, [*words, "--device=cpu"]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["evaluate", "--average=30"],
            "weights of 2 checkpoints, not of 30: --average 2 is the most",
        ),
        (["evaluate", "--average=0"], "--average 0: at least 1"),
        (["evaluate", "--best"], "no best checkpoint, since none was judged .*: leave out --best"),
        (["evaluate", "--beam=0"], "--beam 0: at least 1"),
        (["translate", "--beam=2", "--alpha=-1", "one"], "--alpha -1.0: at least 0"),
        (["train", "--resume", "--steps=5"], "--steps 5: .* has done 6 already"),
    ],
)
def test_a_finished_run_used_wrongly_says_what_is_right(finished, tmp_path, capsys, words, told):
    run = copy_run(finished, tmp_path / "run")
    before = RunFolder(run).settings()
    assert re.search(told, failure(capsys, [*words, "--folder", str(run), "--device=cpu"]))
    assert RunFolder(run).settings() == before


def test_a_run_without_a_checkpoint_says_so(finished, tmp_path, capsys):
    run = copy_run(finished, tmp_path / "run")
    for path in run.glob("*.pt"):
        path.unlink()
    for words in (["train", "--resume"], ["translate", "one"]):
        told = failure(capsys, [*words, "--folder", str(run), "--device=cpu"])
        assert "no checkpoint yet, no last.pt: train it, or name another with --folder" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "required: COMMAND; python -m translation --help"),
        (["train", "--step=3"], "unrecognized arguments: --step=3; "),
        (["train", "--task=poems"], "translation train --help says what there is"),
        (["translate", "--compile", "one"], "unrecognized arguments: --compile; "),
        (["evaluate", "--no-compile"], "unrecognized arguments: --no-compile; "),
    ],
)
def test_a_line_that_cannot_be_read_takes_one_line(capsys, words, told):
    with pytest.raises(SystemExit) as ended:
        main(words)
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and len(lines) == 1 and told in lines[0]


def test_too_little_memory_for_a_search_says_what_needs_less(finished, capsys, monkeypatch):
    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("translation.decoding.search", full)
    told = failure(capsys, ["translate", "--folder", str(finished), "--device=cpu", "one"])
    assert re.search("memory with 1 sentences of up to .* beam of 1: a smaller --beam, or", told)


def test_letters_that_the_model_has_never_seen_are_told(finished, capsys):
    assert main(["translate", "--folder", str(finished), "--device=cpu", "one", "東京"]) == 0
    told = capsys.readouterr().err
    assert "letters that the model has never seen: 東京" in told and ": one" not in told


def test_pairs_that_are_left_out_are_counted(tmp_path, capsys):
    words = parallel(tmp_path, steps=1, longest=20)
    for name in ("en", "de"):
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write("\n" + " ".join(["red"] * 30) + "\n")
    assert main(words) == 0
    told = capsys.readouterr().err
    assert "pairs to train on: 1 with an empty sentence, 1 with a sentence of more than 20" in told
    assert " 25 pairs, " in told


def test_help_has_a_word_for_each_value(capsys):
    for words in ([], ["train"], ["translate"], ["evaluate"]):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        told = capsys.readouterr().out
        assert ended.value.code == 0 and "--help" in told
        assert " X" not in told and " N\n" not in told and " N " not in told


def test_a_run_interrupted_before_its_first_checkpoint_translates(tmp_path, capsys):
    with stopped_after(1, signal.SIGTERM):
        assert main(command(tmp_path, steps=60, save_every=50)) == 130
    folder = RunFolder(tmp_path)
    assert not folder.weights()
    assert same(folder.trained_weights()[0], folder.read()["model"])
    assert main(["translate", "--folder", str(tmp_path), "--device=cpu", "one"]) == 0
