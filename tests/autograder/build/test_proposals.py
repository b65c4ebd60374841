"""What a generic mutator finds that a catalogue lacks, as sections without words."""

from autograder.build.proposals import propose
from tests.support.small_course import CHECK, DOUBLE, IMPORTS, check_cell, mistake, write_exercise


def test_what_a_check_catches_and_no_mistake_explains_is_proposed_once(course_folder):
    known = [mistake(rule="2 * x -> x / 2"), mistake(name="thrice", rule="2 * x -> 3 * x")]
    cells = [IMPORTS, DOUBLE, check_cell(CHECK)]
    exercise = write_exercise(course_folder, "ch9_small", cells, known)
    sections = propose(exercise)
    changes = [section.splitlines()[-1].strip("`") for section in sections]
    # `2 -> 3` is known, and `2 * x -> x` gives what `2 -> 1` gives
    assert changes[:2] == ["2 * x -> 2 / x", "2 * x -> 2"] and len(changes) == 3
    assert sections[2].splitlines()[-2:] == ["`2 * x -> x`", "<!-- or 2 -> 1 -->"]
