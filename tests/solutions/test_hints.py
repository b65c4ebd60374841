"""Can a beginner read what is said about a mistake? Length, and the reading grade by Flesch and Kincaid."""

from autograder.catalogue import mistakes
from tests.support.readability import grade, sentences, words

MAX_WORDS, MAX_SENTENCE, MAX_GRADE = 160, 25, 9


def test_what_is_said_about_a_mistake_is_short(exercise):
    for mistake in mistakes(exercise):
        assert len(words(f"{mistake.means} {mistake.hint}")) <= MAX_WORDS, mistake.name
        for sentence in sentences(mistake.means) + sentences(mistake.hint):
            assert len(words(sentence)) <= MAX_SENTENCE, f"{mistake.name}: {sentence}"


def test_hints_can_be_read_after_nine_years_of_school(exercise):
    known = mistakes(exercise)
    assert grade([mistake.hint for mistake in known]) <= MAX_GRADE
    assert grade([mistake.means for mistake in known]) <= MAX_GRADE
