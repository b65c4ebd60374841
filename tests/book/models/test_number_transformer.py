"""Chapter 7's number translator: its training, its losses, and what is kept of a training."""

import json
import sys

import pytest
import torch
from torch.nn import functional as F

from book.models.encoder_decoder import END, PAD, START
from book.models.number_transformer import (
    exact_match,
    held_out_losses,
    new_model,
    number_data,
    rate,
    tensors,
    train,
    with_noise,
    write,
)
from tests.support.course import COURSE

FEW = {"n_steps": 4}


@pytest.fixture(scope="module")
def run():
    return train(0, **FEW)


def test_tensors_begin_and_end():
    source, target = tensors([27, 381])
    assert (target[:, 0] == START).all()
    assert [row[row != PAD][-1].item() for row in target] == [END, END]
    words = number_data().target_words
    assert [words[i] for i in target[0, 1:4]] == ["sieben", "und", "zwanzig"]
    assert len(source) == 2


def test_training_is_a_function_of_its_seed_and_changes_with_each_setting(run):
    assert train(0, **FEW).losses == run.losses
    assert train(1, **FEW).losses != run.losses
    assert train(0, **FEW, noise=0.5).losses != run.losses


def test_the_rate_rises_in_a_quarter_of_the_steps_and_falls_to_0():
    assert [rate(step, 200) for step in (25, 50, 125, 200)] == pytest.approx(
        [0.005, 0.01, 0.005, 0]
    )


def test_noise_replaces_its_share_of_the_words_and_no_mark():
    words = torch.tensor([PAD, START, END, 5]).repeat(2000, 1)
    torch.manual_seed(0)
    noisy = with_noise(words, 0.5)
    assert torch.equal(noisy[:, :3], words[:, :3])
    assert noisy[:, 3].min() > END and noisy[:, 3].max() < len(number_data().target_words)
    assert 0.4 < (noisy[:, 3] != 5).float().mean() < 0.5


def test_losses_are_torchs(run):
    numbers = number_data().held_out[:9]
    source, target = tensors(numbers)
    with torch.no_grad():
        logits = run.model(source, target[:, :-1]).flatten(0, 1)
    answer = target[:, 1:].flatten()
    smooth, plain, p = held_out_losses(run.model, numbers, 0.2)
    expected = [
        F.cross_entropy(logits, answer, ignore_index=PAD, label_smoothing=share).item()
        for share in (0.2, 0.0)
    ]
    assert [smooth, plain] == pytest.approx(expected, rel=1e-5)
    right = logits.softmax(-1)[torch.arange(len(answer)), answer][answer != PAD]
    assert p == pytest.approx(right.mean().item(), rel=1e-5)


def test_what_is_written_is_judged_word_by_word():
    model = new_model()
    with torch.no_grad():
        for parameter in model.project.parameters():
            parameter.zero_()
        words = number_data().target_words
        model.project.bias[words.index("vier")] = 9
    assert set(write(model, [4])[0]) == {"vier"}  # and it never ends
    assert exact_match(model, [4]) == 0


def test_a_kept_training_is_the_training(monkeypatch):
    monkeypatch.syspath_prepend(COURSE.book)
    from number_transformers import as_run, trained, without_defaults

    recipe = FEW | {"noise": 0.2}
    fresh = train(1, **recipe)
    run = as_run(json.loads(json.dumps(trained(1, recipe))))
    assert (run.losses, run.norms) == (fresh.losses, fresh.norms)
    for one, two in zip(run.model.parameters(), fresh.model.parameters(), strict=True):
        assert torch.equal(one, two)
    assert without_defaults({"n_steps": 200, "noise": 0.2}) == {"noise": 0.2}
    for name in ("kept", "number_transformers"):
        sys.modules.pop(name, None)
