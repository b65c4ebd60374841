"""Kneser-Ney smoothing, against formulas that count in the text itself."""

import pytest

from book.models.kneser_ney import KneserNey

CHARACTERS = "abcd"
# no d: a character that was never counted; few runs of four, so that all ways of falling back occur
WORDS = "abacabbabcacbbacaabacab"


def occurrences(run):
    return sum(WORDS.startswith(run, i) for i in range(len(WORDS)))


def slow(before, character, order, discount, highest=True):
    """The formula of Chen and Goodman (1999), by counting again for each probability."""
    if order == 0:
        return 1 / len(CHARACTERS)
    run = before[len(before) - order + 1 :]

    def count(run):
        if highest:
            return occurrences(run)
        return sum(occurrences(first + run) > 0 for first in CHARACTERS)

    shorter = slow(before, character, order - 1, discount, highest=False)
    counts = {c: count(run + c) for c in CHARACTERS}
    total = sum(counts.values())
    if total == 0:
        return shorter
    followers = sum(n > 0 for n in counts.values())
    share_left = discount * followers / total
    return max(counts[character] - discount, 0) / total + share_left * shorter


BEFORE = ["aba", "abc", "caa", "bbb", "dab", "add", "ddd"]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("discount", [0.3, 0.9])
def test_probabilities_are_those_of_the_formula(order, discount):
    model = KneserNey(WORDS, 4, CHARACTERS)
    for before in BEFORE:
        for character in CHARACTERS:
            expected = slow(before, character, order, discount)
            assert model.probability(before, character, order, discount) == pytest.approx(expected)


def test_what_follows_few_different_characters_is_unlikely_after_an_unknown_run():
    # c occurs as often as b, but always after x
    model = KneserNey("xcxcxcxcabdbebfb", 2, "abcdefx")
    after_c, after_b = (model.probability("c", letter, 2, 0.5) for letter in "cb")
    assert after_b > 2 * after_c


def test_a_text_without_such_runs_is_refused():
    for longest in (0, 4):
        with pytest.raises(ValueError, match=f"a text of 3 has no runs of {longest}"):
            KneserNey("abc", longest, "abc")
