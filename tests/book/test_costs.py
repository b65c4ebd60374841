"""What mistakes cost in training: the rule, the stored results, and the games that they were measured in."""

import pytest

from autograder.publish.experiments import read_results
from book._practice.training import cards, letters
from book.costs import MEASURED, PAGE, cost, costs, measurements, right_curve, sentence
from solutions.ch2_scaled_dot_product import attention
from solutions.ch4_masking import causal_mask, masked_softmax
from tests.support.course import COURSE

RIGHT = [[100, 0.1, 1.0], [120, 0.1, 0.98], [110, 0.1, 0.99]]
# of three seeds: the step at which 0.9 was reached, the loss and the share at the end
MADE_UP = {
    "never": [[None, 0.01, 0.49]] * 3,
    "less": [[100, 0.1, 0.96]] * 3,
    "slower": [[138, 0.1, 0.98]] * 3,
    "nothing": [[137, 0.1, 0.98]] * 3,
}


@pytest.mark.parametrize("kind", MADE_UP)
def test_the_rule(kind):
    assert cost(MADE_UP[kind], RIGHT).kind == kind


def test_a_seed_that_never_arrives_or_has_no_loss():
    found = cost([[100, 0.1, 1.0], [100, 0.1, 1.0], [None, None, 0.96]], RIGHT)
    assert (found.kind, found.steps, found.loss) == ("less", None, float("inf"))


def test_the_sentence_of_a_leak_speaks_of_its_loss():
    right = cost(RIGHT, RIGHT)
    said = sentence(cost(MADE_UP["never"], RIGHT), right)
    assert "far lower" in said and "49%" in said and "99%" in said
    others = {kind: sentence(cost(MADE_UP[kind], RIGHT), right) for kind in MADE_UP}
    assert "1.3 times" in others["slower"] and "96%" in others["less"]
    assert len({*others.values()}) == len(MADE_UP)


def test_stored_are_the_answers_of_the_catalogue_and_no_others():
    entries = read_results(COURSE.book / "results" / f"{PAGE}.json")["results"]
    stored = [tuple(entry["arguments"]) for entry in entries if entry["function"] == "measured"]
    assert sorted(stored) == sorted(measurements())


@pytest.mark.parametrize("game", MEASURED)
def test_a_sentence_for_each_mistake_and_a_curve_that_arrives(game):
    for task, names in MEASURED[game].items():
        assert costs(game, task).keys() == {*names}
    assert right_curve(game)[-1][2] > 0.95


def test_cards_are_learned():
    steps, losses, shares = zip(*cards.train({"attention": attention}), strict=True)
    assert list(steps) == list(range(5, 101, 5))
    assert losses[0] > 2 and losses[-1] < 0.15 and shares[0] < 0.3 and shares[-1] > 0.98


@pytest.mark.parametrize("mask", [causal_mask, lambda T: causal_mask(T) | True])
def test_letters_are_learned_unless_the_future_is_seen(mask):
    *_, (_, loss, share) = letters.train({"causal_mask": mask, "masked_softmax": masked_softmax})
    written = letters.write("Forty-one ", 20)
    assert written.startswith("forty-one ") and len(written) == 30
    if mask is causal_mask:
        assert loss > 0.1 and share > 0.95 and written == "forty-one forty-two forty-thre"
    else:
        assert loss < 0.01 and share < 0.2
