"""The Transformer in one file: equal to the solutions' modules, and each part replaceable by an answer of its name."""

import importlib
import random

import pytest
import torch

from autograder.exercises import reference_answers
from book.models import number_words, transformer
from tests.support.course import COURSE, chapter_exercises

FILE = COURSE.book / "models" / "transformer.py"
SIZES = (len(transformer.SOURCE), len(transformer.TARGET), 24, 3, 2, 40)
NUMBERS = [7, 21, 54_321, 100_100]
# the answers of exercises that the file has, too, each with its module
ANSWERS = {
    name: exercise.name
    for exercises in chapter_exercises().values()
    for exercise in exercises
    for name in reference_answers(exercise)
    if name in vars(transformer)
}


def solution(name):
    return getattr(importlib.import_module(f"solutions.{ANSWERS[name]}"), name)


def results(seed=0):
    """What the file computes with few numbers: logits, what is written, the loss of three steps of training."""
    torch.manual_seed(seed)
    model = transformer.Transformer(*SIZES)
    source, target = transformer.tensors(NUMBERS)
    logits = model(source, transformer.shift(target)[0])
    written = transformer.translate(model, NUMBERS)
    after = transformer.train(seed, n_steps=3)(source, target)
    return logits, written, after


def test_the_file_is_short_and_imports_torch_alone():
    text = FILE.read_text(encoding="utf-8")
    assert text.count("\n") <= 300
    found = [line for line in text.split("\n") if line.startswith(("import ", "from "))]
    assert {line.split()[1].partition(".")[0] for line in found} == {"torch"}


def test_the_file_runs_when_it_is_pasted():
    pasted = {"__name__": "pasted"}
    exec(compile(FILE.read_text(encoding="utf-8"), "pasted", "exec"), pasted)
    model = pasted["train"](n_steps=4)
    assert len(pasted["translate"](model, NUMBERS)) == len(NUMBERS)
    assert 0 <= pasted["accuracy"](model) <= 1


@pytest.mark.parametrize("double", [False, True])
def test_it_equals_the_solution_with_copied_weights(double):
    torch.manual_seed(1)
    ours, reference = transformer.Transformer(*SIZES), solution("Transformer")(*SIZES)
    # the table of positions has more rows there
    ours.load_state_dict(dict(reference.named_parameters()), strict=False)
    if double:
        ours, reference = ours.double(), reference.double()
    names = [{name for name, _ in model.named_parameters()} for model in (ours, reference)]
    assert names[0] == names[1]
    source, target = transformer.tensors(NUMBERS)
    assert (ours(source, target) - reference(source, target)).abs().max() <= 1e-6


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_each_part_can_be_replaced_by_the_answer_of_its_name(name, monkeypatch, capsys):
    logits, written, after = results()
    monkeypatch.setattr(transformer, name, solution(name))
    other_logits, other_written, other_after = results()
    assert other_written == written
    torch.testing.assert_close(other_logits, logits, atol=1e-5, rtol=0)
    torch.testing.assert_close(other_after, after, atol=1e-4, rtol=0)
    assert capsys.readouterr()


def test_the_words_of_numbers_are_those_of_num2words():
    drawn = random.Random(0)
    for n in [*range(1, 1300), *(drawn.randrange(1300, 1_000_000) for _ in range(300))]:
        assert transformer.english(n) == number_words.english(n)
        # one before a thousand is ein, and num2words writes eins behind hundreds
        if n // 1000 % 100 != 1 or n < 100_000:
            assert transformer.german(n) == number_words.german(n)
    assert " ".join(transformer.german(101_001)) == "ein hundert ein tausend eins"


def test_numbers_to_learn_from_and_to_ask_for_are_different():
    seen, asked = transformer.different_numbers()
    assert (len({*seen}), len({*asked})) == (8000, 1000) and not {*seen} & {*asked}
