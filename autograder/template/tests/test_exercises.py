"""Every known mistake loses points and is named, and every right answer gets full marks."""

import pytest

from autograder.audit.audit import findings_of
from autograder.audit.cases import catalogue_cases
from autograder.course import Course

COURSE = Course.find()


@pytest.mark.parametrize("exercise", COURSE.exercises(), ids=str)
def test_the_grader_is_right_about_everything_in_the_catalogue(exercise):
    (found,) = findings_of(COURSE, catalogue_cases(exercise))
    assert found.surprises == found.disagreements == ()
    assert found.caught == found.named == found.mistakes > 0
    assert found.accepted == found.alternatives > 0
