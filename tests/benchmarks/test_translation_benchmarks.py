"""The trainer's benchmarks: they choose on the validation pairs, never on those of the test."""

import shutil

import pytest

from benchmarks import multi30k, throughput
from tests.support.small_runs import WORDS, colours, write
from translation import machine
from translation.__main__ import main


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


def test_other_test_pairs_change_the_score_and_nothing_else(run, captions):
    here = machine.Machine(machine.torch.device("cpu"))
    results = []
    for references in (colours(40, 2), [(pair[0], "rot") for pair in colours(40, 2)]):
        write(captions, "test_2016_flickr", references)
        results.append(multi30k.score(run, str(captions), here))
    one, other = results
    assert one["bleu_tokenised"] != other["bleu_tokenised"]
    assert one["curve"] == other["curve"]
    assert [point["step"] for point in one["curve"]] == [*range(3, 25, 3)]
    assert "data" not in one["settings"] and one["parameters"] > 1000


def test_the_peak_of_a_card_for_a_slot_is_not_that_of_a_server_module():
    peaks = {
        "NVIDIA H100 80GB HBM3": 989e12,
        "NVIDIA H100 PCIe": 756e12,
        "NVIDIA H200 NVL": 835e12,
        "NVIDIA A100-SXM4-40GB": 312e12,
        "Tesla T4": None,
    }
    assert {card: throughput.peak_of(card) for card in peaks} == peaks
