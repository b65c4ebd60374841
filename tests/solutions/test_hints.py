"""Can a beginner read what is said about a mistake? Length, and the reading grade by Flesch and Kincaid."""

import pytest

from autograder.catalogue import mistakes
from tests.support.readability import grade, sentences, syllables, words

MAX_WORDS, MAX_SENTENCE, MAX_GRADE = 160, 25, 9


@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("the", 1),
        ("handed", 2),
        ("divided", 3),
        ("stopped", 1),
        ("values", 1),
        ("remembers", 3),
        ("little", 2),
        ("`x.mT`", 1),
        ("d_model", 1),
        ("beginner", 3),
    ],
)
def test_syllables(word, count):
    assert syllables(word) == count


def test_long_words_and_long_sentences_raise_the_grade():
    easy = "The cat sat on the mat. It had a red hat."
    hard = (
        "Notwithstanding considerable misunderstandings, administrators characteristically "
        "underestimated organisational responsibilities throughout the investigation."
    )
    assert grade([easy]) < 2 and grade([hard]) > 20


def test_what_is_said_about_a_mistake_is_short(exercise):
    for mistake in mistakes(exercise):
        assert len(words(f"{mistake.means} {mistake.hint}")) <= MAX_WORDS, mistake.name
        for sentence in sentences(mistake.means) + sentences(mistake.hint):
            assert len(words(sentence)) <= MAX_SENTENCE, f"{mistake.name}: {sentence}"


def test_hints_can_be_read_after_nine_years_of_school(exercise):
    known = mistakes(exercise)
    assert grade([mistake.hint for mistake in known]) <= MAX_GRADE
    assert grade([mistake.means for mistake in known]) <= MAX_GRADE
