"""The trainer's benchmarks: they choose on the validation pairs, never on those of the test."""

import json
import math
import shutil
import sys
from concurrent.futures import Future
from dataclasses import replace

import pytest
import torch

from benchmarks import (
    ablation,
    distillation,
    multi30k,
    processes,
    throughput,
)
from tests.support.colour_captions import WORDS, colours, write
from translation import TranslationError, data, machine
from translation.__main__ import main
from translation.batches import Batches
from translation.command_line import settings_of
from translation.model import build
from translation.run_folder import RunFolder
from translation.settings import complete
from translation.tokenizer import BOS, EOS, Rows


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a Multi30k of colours, without its test pairs, and with a short run on it."""
    folder = tmp_path_factory.mktemp("made")
    captions = folder / "captions"
    captions.mkdir()
    write(captions, "train", colours(200, 0))
    write(captions, "val", colours(30, 1))
    words = ["train", "--task=multi30k", f"--data={captions}", "--folder", str(folder / "run")]
    words += ["--device=cpu", "--threads=1", "--steps=24", "--save-every=3", *WORDS]
    assert main(words) == 0
    return folder


@pytest.fixture
def captions(made, tmp_path):
    """A copy of those captions, to which test pairs can be added."""
    return shutil.copytree(made / "captions", tmp_path / "captions")


@pytest.fixture
def run(made, tmp_path):
    """A copy of that run."""
    return shutil.copytree(made / "run", tmp_path / "run")


def test_what_is_chosen_needs_no_test_pairs(run):
    """There are none in the folder, so nothing can have looked at them."""
    folder = RunFolder(run)
    here = machine.Machine(machine.torch.device("cpu"))
    choice, found = multi30k.choose(folder, here, folder.settings(), 5)
    assert found[choice] == max(found.values())
    assert len(found) == 3 * len(multi30k.ALPHAS)
    greedy, _ = multi30k.choose(folder, here, folder.settings(), 1)
    assert (greedy.beam, greedy.refill) == (1, False)


def test_other_test_pairs_change_the_score_and_nothing_else(run, captions):
    here = machine.Machine(machine.torch.device("cpu"))
    results = []
    for references in (colours(40, 2), [(pair[0], "rot") for pair in colours(40, 2)]):
        write(captions, "test_2016_flickr", references)
        results.append(multi30k.score(run, str(captions), here))
    one, other = results
    assert one["bleu_tokenised"] != other["bleu_tokenised"]
    for name in ("chosen_on_validation_pairs", "valid_bleu", "valid_scores_of_choice", "curve"):
        assert one[name] == other[name]
    best = max(choice["bleu"] for choice in one["valid_bleu"])
    assert one["valid_scores_of_choice"]["bleu_tokenised"] == best
    assert one["valid_scores_of_choice"]["sentences"] == 30
    assert [point["step"] for point in one["curve"]] == [*range(3, 25, 3)]
    assert "data" not in one["settings"] and one["parameters"] > 1000


def test_a_run_that_goes_on_from_another_counts_what_both_have_cost(run, captions, tmp_path):
    write(captions, "test_2016_flickr", colours(40, 2))
    words = ["train", "--task=multi30k", f"--data={captions}", f"--init-from={run}", "--steps=6"]
    words += ["--save-every=3", "--device=cpu", "--threads=1", "--tokens=200", "--seed=5"]
    assert main([*words, f"--folder={tmp_path / 'second'}"]) == 0
    here = machine.Machine(machine.torch.device("cpu"))
    first = multi30k.score(run, str(captions), here)
    both = multi30k.score(tmp_path / "second", str(captions), here)
    assert [point["step"] for point in both["curve"]] == [*range(3, 25, 3), 27, 30]
    assert [point["run"] for point in both["curve"]] == [*[1] * 8, 2, 2]
    assert both["curve"][: len(first["curve"])] == first["curve"]
    for name in ("training_seconds", "training_processor_seconds"):
        assert both[name] > first[name]
    assert both["curve"][-1]["minutes"] <= both["training_seconds"] / 60 + 0.01
    assert first["settings_of_earlier_runs"] == []
    assert both["settings_of_earlier_runs"] == [first["settings"]]
    assert (both["seed"], both["settings"]["tokens"]) == (5, 200)
    assert both["settings"]["init_from"] == "runs/pair1"
    assert str(tmp_path) not in repr(both)


def test_a_run_that_learned_from_others_counts_what_they_have_cost(run, captions, tmp_path):
    """Teachers come before the runs that they taught, each once; the curve is that of the model's weights."""
    write(captions, "test_2016_flickr", colours(40, 2))
    words = ["train", "--task=multi30k", f"--data={captions}", "--steps=6", "--save-every=3"]
    words += ["--device=cpu", "--threads=1", *WORDS]
    student, last = tmp_path / "student", tmp_path / "last"
    assert main([*words, f"--folder={student}", "--seed=1", "--distill-from", str(run)]) == 0
    teachers = ["--distill-from", str(run), str(student)]
    words += ["--distill-weight=0.7", f"--init-from={student}", *teachers]
    assert main([*words, f"--folder={last}"]) == 0
    assert multi30k.ancestry(RunFolder(last))[-1].path == last
    found = multi30k.score(last, str(captions), machine.Machine(machine.torch.device("cpu")), [1.4])
    assert [one["alpha"] for one in found["valid_bleu"]] == [1.4] * 3
    of_teacher, of_student = found["settings_of_earlier_runs"]
    assert of_student["distill_from"] == ["runs/pair1"] and not of_teacher["distill_from"]
    assert found["settings"]["distill_from"] == ["runs/pair1", "runs/pair2"]
    assert [point["run"] for point in found["curve"]] == [2, 2, 3, 3]
    assert [point["step"] for point in found["curve"]] == [3, 6, 9, 12]
    spent = [
        max(line["seconds"] for line in RunFolder(one).measured()) for one in (run, student, last)
    ]
    assert found["training_seconds"] == pytest.approx(sum(spent))
    assert found["curve"][0]["minutes"] >= spent[0] / 60 - 0.01
    assert str(tmp_path) not in repr(found)


def test_an_ablation_spends_its_budget_without_the_test_pairs(captions, tmp_path):
    words = ["--task=multi30k", f"--data={captions}", "--device", "cpu", "--threads", "1", *WORDS]
    found = ablation.train(tmp_path / "one", words, 4000)
    lines = RunFolder(tmp_path / "one").measured()
    tokens = sum(len(pair[1].split()) for pair in colours(200, 0))
    assert found["steps"] >= 4000 / 300  # a batch has at most 300
    assert found["steps"] < 4000 / tokens * 200  # and more than one sentence
    assert lines[-1]["step"] == found["steps"]
    again = ablation.train(tmp_path / "one", words, 4000)
    assert again["valid_bleu"] == found["valid_bleu"]  # it was there already


def test_a_run_learns_from_the_translations_of_another(run, captions, tmp_path):
    """As the help says: a copy of the data, with what a larger run translates in the references' place."""
    distilled = tmp_path / "distilled"
    shutil.copytree(captions, distilled)
    written = distilled / "train.lc.norm.tok.de"
    words = ["evaluate", f"--folder={run}", "--split=train", "--beam=2", f"--output={written}"]
    assert main([*words, "--device=cpu"]) == 0
    pairs = list(data.load(complete({"task": "multi30k", "data": str(distilled)}), "train"))
    assert [source for source, _ in pairs] == [source for source, _ in colours(200, 0)]
    assert [target for _, target in pairs] == written.read_text(encoding="utf-8").splitlines()
    assert pairs != colours(200, 0)
    words = ["train", "--task=multi30k", f"--data={distilled}", "--folder", str(tmp_path / "small")]
    assert main([*words, "--device=cpu", "--threads=1", "--steps=2", *WORDS]) == 0


def test_a_student_is_compared_with_a_run_that_differs_in_nothing_else(made, run, tmp_path):
    student, captions = tmp_path / "student", made / "captions"
    words = [
        "train",
        "--task=multi30k",
        f"--data={captions}",
        "--device=cpu",
        "--threads=1",
        *WORDS,
    ]
    words += ["--steps=24", "--save-every=3"]
    assert main([*words, f"--folder={student}", "--distill-from", str(run)]) == 0
    plain, taught = RunFolder(run), RunFolder(student)
    found = distillation.measure([plain], [taught], str(captions))
    (one,) = found["comparisons"]
    assert one["distill_weight"] == 0.5
    assert one["plain"]["valid_loss"] != one["student"]["valid_loss"]
    # a mean of one teacher is that teacher, whose loss the trainer has measured
    assert found["valid_loss_of_teachers"] == [found["valid_loss_of_their_mean"]]
    measured = plain.measured()[-1]["valid_loss"]
    assert found["valid_loss_of_their_mean"] == pytest.approx(measured, rel=1e-4)
    with pytest.raises(TranslationError, match=r"must have teachers, and .*student none"):
        distillation.measure([taught], [taught], str(captions))
    taught.write_settings(replace(taught.settings(), dropout=0.5))
    with pytest.raises(TranslationError, match=r"differ in dropout, too: 0\.5 and"):
        distillation.measure([plain], [taught], str(captions))
    other = RunFolder(tmp_path / "other")
    shutil.copytree(student, other.path)
    other.write_settings(replace(other.settings(), distill_from=(str(student),)))
    with pytest.raises(TranslationError, match="the same teachers"):
        distillation.measure([plain, plain], [taught, other], str(captions))


def test_the_loss_of_a_mean_is_that_of_mean_probabilities(run):
    """Two teachers, place by place."""
    folder = RunFolder(run)
    models = [build(folder.settings(), len(folder.tokenizer()), "fused").eval() for _ in range(2)]
    rows = Rows.of([[5, 6, EOS], [7, EOS], [8, 9, 5, EOS]])
    found = distillation.loss_of_mean(
        models, Batches(lambda epoch: (rows, rows), 100, 0), machine.choose("cpu")
    )
    by_hand = []
    for n in range(3):
        ids = rows.ids[rows.ends[n] : rows.ends[n + 1]].tolist()
        for place, wanted in enumerate(ids):
            inputs = torch.tensor([ids]), torch.tensor([[BOS, *ids[:place]]])
            with torch.no_grad():
                chances = [float(model(*inputs)[0, -1].softmax(-1)[wanted]) for model in models]
            by_hand.append(-math.log(sum(chances) / 2))
    assert found == pytest.approx(sum(by_hand) / len(by_hand), rel=1e-5)


class InThisProcess:
    """Stands for a pool of processes, so that a test can say what its runs come to."""

    def __init__(self, *arguments, **more):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def submit(self, function, *arguments):
        done = Future()
        done.set_result(function(*arguments))
        return done


@pytest.fixture
def ablate(tmp_path, monkeypatch):
    """Run the ablation with scores instead of training; the runs that it trained, and the tables it saved."""
    trained, saves = [], []

    def run(bleu, *more):
        def train(path, words, tokens):
            name, seed = path.name.rsplit("-", 1)
            assert f"--seed={seed}" in words
            name = name.replace("-", " ")
            trained.append((name, int(seed)))
            return {"seed": int(seed), "valid_bleu": bleu[name] + int(seed)}

        monkeypatch.setattr(ablation, "train", train)
        words = ["ablation", "--data=texts", f"--folder={tmp_path}", "--only", *bleu, *more]
        monkeypatch.setattr(sys, "argv", words)
        ablation.main()
        return trained, saves

    def save(script, measured):
        saves.append(measured)
        ablation.TABLE.write_text(json.dumps(measured), encoding="utf-8")

    monkeypatch.setattr(ablation, "ProcessPoolExecutor", InThisProcess)
    monkeypatch.setattr(ablation, "save", save)
    monkeypatch.setattr(ablation, "TABLE", tmp_path / "ablation.json")
    return run


@pytest.mark.parametrize(
    ("bleu", "twice"),
    [
        ({"reference": 40.0, "AdamW": 40.6, "6 layers": 39.0}, []),
        ({"reference": 40.0, "AdamW": 40.4, "6 layers": 39.0}, ["reference", "AdamW"]),
        ({"reference": 40.0, "AdamW": 39.0, "6 layers": 39.6}, ["reference", "6 layers"]),
        ({"reference": 40.0}, []),
    ],
)
def test_close_variants_and_the_reference_get_a_second_seed(ablate, bleu, twice):
    trained, saves = ablate(bleu)
    assert trained == [(name, 0) for name in bleu] + [(name, 1) for name in twice]
    found = [
        {name: one["mean_valid_bleu"] for name, one in saved["variants"].items()} for saved in saves
    ]
    after = {name: score + 0.5 * (name in twice) for name, score in bleu.items()}
    assert found == ([bleu, after] if twice else [bleu])
    assert [saved["need_a_second_seed"] for saved in saves] == ([twice, []] if twice else [[]])


def test_an_ablation_trains_nothing_that_its_table_has(ablate):
    trained, saves = ablate({"reference": 40.0, "AdamW": 40.4})
    del trained[:]
    ablate({"reference": 0.0, "6 layers": 40.3})
    assert trained == [("6 layers", 0), ("6 layers", 1)]
    runs = {
        name: [run["valid_bleu"] for run in one["runs"]]
        for name, one in saves[-1]["variants"].items()
    }
    assert runs == {"reference": [40.0, 41.0], "AdamW": [40.4, 41.4], "6 layers": [40.3, 41.3]}
    interrupted = saves[-2]  # before the last seed, no run of the table may be lost
    assert len(interrupted["variants"]["AdamW"]["runs"]) == 2
    assert interrupted["need_a_second_seed"] == ["6 layers"]


@pytest.mark.parametrize("more", ["--budget=4e6", "--heads=2"])
def test_an_ablation_of_other_settings_begins_anew(ablate, more):
    trained, _ = ablate({"reference": 40.0, "AdamW": 41.0})
    del trained[:]
    ablate({"reference": 40.0}, more)
    assert trained == [("reference", 0)]


def test_every_variant_changes_a_setting_of_the_reference():
    reference = settings_of(["train", *ablation.BASE])
    for name, words in ablation.VARIANTS.items():
        settings = settings_of(["train", *ablation.BASE, *words])
        assert (settings == reference) == (name == ablation.REFERENCE)


def test_processes_and_threads_share_the_same_step():
    recipe = complete({"task": "multi30k"})
    for launch, words in processes.KINDS.values():
        settings = settings_of(["train", "--task=multi30k", *words])
        assert settings.accumulate * (2 if launch else 1) == recipe.accumulate


def test_the_peak_of_a_card_for_a_slot_is_not_that_of_a_server_module():
    peaks = {
        "NVIDIA H100 80GB HBM3": 989e12,
        "NVIDIA H100 PCIe": 756e12,
        "NVIDIA H200 NVL": 835e12,
        "NVIDIA A100-SXM4-40GB": 312e12,
        "Tesla T4": None,
    }
    assert {card: throughput.peak_of(card) for card in peaks} == peaks
